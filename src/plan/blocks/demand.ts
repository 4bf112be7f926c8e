import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { podAddresses } from '../pod-address/block-addresses.ts';

/**
 * Cilium's demand rule: what is in use plus what shall be kept ready, rounded up
 * to a multiple of the latter, so that a busy node does not ask on every pod.
 */
export function neededAddresses(inUse: number, preAllocate: number): number {
  if (preAllocate === 0) return inUse;
  return Math.ceil((inUse + preAllocate) / preAllocate) * preAllocate;
}

/** Whether blocks already held cover a demand; a node always has at least one. */
export function coversDemand(
  held: ReadonlyArray<{ prefix: Prefix }>,
  family: Family,
  needed: number,
): boolean {
  let count = 0n;
  let blocks = 0;
  for (const { prefix } of held) {
    if (prefix.family !== family) continue;
    blocks++;
    count += podAddresses(prefix);
  }
  return blocks > 0 && count >= BigInt(needed);
}

/** So that one node's demand does not hold up the others. */
export const mostCutsAtOnce = 16;
