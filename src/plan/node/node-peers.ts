import type { BgpPeer } from '../../model/bgp-peer.ts';
import { type Labels, selects } from '../../model/label-selector.ts';
import { parseAddress } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';

/** The routers that one node speaks with, as its speaker takes them. */
export interface NodePeer {
  name: string;
  address: string;
  port: number;
  asn: number;
  localAsn: number;
  routerId: string;
  localAddress?: string;
  families: readonly Family[];
  holdSeconds: number;
  keepaliveSeconds?: number;
  connectRetrySeconds?: number;
  multihopTtl?: number;
  ttlSecurityHops?: number;
  gracefulRestartSeconds?: number;
  password?: string;
  /** For the family that the session itself does not run over. */
  nextHop?: Partial<Record<Family, string>>;
}

interface PeeringNode {
  readonly name: string;
  readonly labels: Labels;
  /** InternalIPs. */
  readonly addresses: readonly string[];
}

/**
 * By name, so that which of two peers with one address is refused does not
 * depend on who was heard of first.
 */
export function nodePeers(peers: Iterable<BgpPeer>, node: PeeringNode): NodePeer[] {
  const chosen: NodePeer[] = [];
  for (const peer of peers) {
    const { nodeSelectors, gracefulRestartSeconds, routerId, ...settings } = peer;
    const isForUs =
      nodeSelectors.length === 0 ||
      nodeSelectors.some((selector) => selects(selector, node.labels));
    if (!isForUs) continue;
    chosen.push({
      ...settings,
      routerId: routerId ?? defaultRouterId(node),
      ...(gracefulRestartSeconds > 0 ? { gracefulRestartSeconds } : {}),
      ...otherNextHop(settings, node),
    });
  }
  return chosen.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * A session's own address is no next hop for the other family: there it is the
 * node's first address of that family, or the routes could not be told at all.
 */
function otherNextHop(
  peer: { address: string; families: readonly Family[] },
  { addresses }: PeeringNode,
): { nextHop?: Partial<Record<Family, string>> } {
  const other: Family = parseAddress(peer.address)?.family === 'ipv6' ? 'ipv4' : 'ipv6';
  if (!peer.families.includes(other)) return {};
  const own = addresses.find((text) => parseAddress(text)?.family === other);
  return own === undefined ? {} : { nextHop: { [other]: own } };
}

/**
 * The node's first IPv4 address. Where it has none, any number that is the
 * node's alone will do (RFC 6286 §2.1): one derived from its name stays the same
 * over a restart, which routers take as the sign that it is the same speaker.
 */
export function defaultRouterId({ name, addresses }: PeeringNode): string {
  for (const text of addresses) {
    if (parseAddress(text)?.family === 'ipv4') return text;
  }
  // FNV-1a.
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  }
  const octet = (shift: number) => (hash >>> shift) & 0xff;
  // Within 1 to 223, so that it looks like a unicast address and is never 0.0.0.0.
  return [(octet(24) % 223) + 1, octet(16), octet(8), octet(0)].join('.');
}
