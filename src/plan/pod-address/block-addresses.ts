/**
 * What a block has for pods. Everybody who counts the addresses of a block asks here: the agent that
 * gives them, the operator that judges whether a node has enough, and whoever shows it to people. When
 * two of them counted differently, a node stopped short of its last pods with a pool full of blocks.
 *
 * A block of two or of one has no roles (RFC 3021, RFC 6164). In every other one 0 is the network (IPv6:
 * the routers' anycast address, RFC 4291 §2.6.1), 1 the gateway, and the last one the broadcast address.
 */
import type { Address } from '../../net/address.ts';
import { addressCount, type Prefix } from '../../net/prefix.ts';

const network = 1n;
const gateway = 1n;
const broadcast = 1n;

const hasRoles = (prefix: Prefix) => addressCount(prefix) > 2n;

/** The first and the last address that a pod can have, as distances from the first of the block. */
export function podRange(prefix: Prefix): { lowest: bigint; highest: bigint } {
  const all = addressCount(prefix);
  if (!hasRoles(prefix)) return { lowest: 0n, highest: all - 1n };
  return { lowest: network + gateway, highest: all - 1n - broadcast };
}

/** How many pods can have an address of the block. */
export function podAddresses(prefix: Prefix): bigint {
  const { lowest, highest } = podRange(prefix);
  return highest - lowest + 1n;
}

/** The same with the gateway, as people and Cilium count: a /24 has 254. */
export function hostAddresses(prefix: Prefix): bigint {
  return podAddresses(prefix) + (hasRoles(prefix) ? gateway : 0n);
}

/** The address the block keeps for the node's end of every pod; none in a block of two or one. */
export function gatewayOf(prefix: Prefix): Address | undefined {
  return hasRoles(prefix) ? prefix.first().plus(network) : undefined;
}
