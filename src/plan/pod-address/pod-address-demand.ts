/** What a node's use of its blocks means for asking, giving back, and for saying "not ready". */
import { type Family, families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { neededAddresses } from '../blocks/demand.ts';
import { addressesToHaveRoom } from './address-room.ts';
import { familyLabel, type PodBlockUse } from './pod-address.ts';

export type PodDemand = Partial<Record<Family, number>>;

/**
 * How many addresses of each family the node should hold; what is in cool-down is not in use. What it
 * reserves in its blocks for itself comes on top, because the operator, who does not know of it,
 * counts whole blocks.
 */
export function podDemand(use: readonly PodBlockUse[], preAllocate: number): PodDemand {
  const demand: PodDemand = {};
  for (const family of families) {
    const own = use.filter((block) => block.prefix.family === family);
    if (own.length === 0) continue;
    const pods = own.reduce((sum, block) => sum + block.pods, 0);
    const reserved = own.reduce((sum, block) => sum + (block.isDraining ? 0n : block.reserved), 0n);
    const needed = Math.max(neededAddresses(pods, preAllocate), addressesToHaveRoom(pods));
    demand[family] = Math.min(needed + Number(reserved), Number.MAX_SAFE_INTEGER);
  }
  return demand;
}

/**
 * Blocks to give back: empty, nothing in cool-down in them, and not needed for the
 * demand. Draining ones go as soon as they are empty. The last ones first,
 * because round robin starts at the front; the node keeps at least one block
 * of each family that is not draining.
 */
export function blocksToGiveBack(use: readonly PodBlockUse[], demand: PodDemand): Prefix[] {
  const back: Prefix[] = [];
  for (const family of families) {
    const own = use.filter((block) => block.prefix.family === family);
    const isEmpty = (block: PodBlockUse) => block.pods === 0 && block.resting === 0;
    const open = own.filter((block) => !block.isDraining);
    back.push(...own.filter((block) => block.isDraining && isEmpty(block)).map((b) => b.prefix));
    let left = open.length;
    let room = open.reduce((sum, block) => sum + block.forPods, 0n);
    for (const block of open.toReversed()) {
      if (left === 1 || !isEmpty(block)) continue;
      if (room - block.forPods < BigInt(demand[family] ?? 0)) continue;
      back.push(block.prefix);
      room -= block.forPods;
      left--;
    }
  }
  return back;
}

/** As Cilium says it, one line a block. */
export function useLines(use: readonly PodBlockUse[]): string[] {
  return use.map(
    ({ prefix, allocated, total, isDraining }) =>
      `${familyLabel(prefix.family)}: ${allocated}/${total} allocated from ${prefix}${isDraining ? ' (draining)' : ''}`,
  );
}
