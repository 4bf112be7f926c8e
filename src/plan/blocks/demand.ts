import type { Family } from '../../net/family.ts';
import { type Prefix, usableAddresses } from '../../net/prefix.ts';

/**
 * Cilium's demand rule: what is in use plus what shall be kept ready, rounded up
 * to a multiple of the latter, so that a busy node does not ask on every pod.
 */
export function neededAddresses(inUse: number, preAllocate: number): number {
  if (preAllocate === 0) return inUse;
  return Math.ceil((inUse + preAllocate) / preAllocate) * preAllocate;
}

export interface Usable {
  allowFirst: boolean;
  allowLast: boolean;
}

/** Neither the network nor the last address goes to a pod. */
export const usableByDefault: Usable = { allowFirst: false, allowLast: false };

/** Whether blocks already held cover a demand; a node always has at least one. */
export function coversDemand(
  held: ReadonlyArray<{ prefix: Prefix }>,
  family: Family,
  needed: number,
  usable: Usable = usableByDefault,
): boolean {
  let count = 0n;
  let blocks = 0;
  for (const { prefix } of held) {
    if (prefix.family !== family) continue;
    blocks++;
    count += usableAddresses(prefix, usable);
  }
  return blocks > 0 && count >= BigInt(needed);
}
