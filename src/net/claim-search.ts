import { bitCount, lowestBit, runsOf } from './claim-slots.ts';
import { ALL, type ClaimStore, COVERED, DEPTH, LARGEST, STRIDE, TOUCHED } from './claim-store.ts';
import type { Family } from './family.ts';
import { Prefix } from './prefix.ts';

/**
 * Finding and counting free blocks. Every step either decides on bitmaps or
 * goes down into a slot of which the summary already promises success, so the
 * cost is the depth of the trie at any fill level.
 */

/** The lowest free block of `length` in the given slots of the node. */
export function lowestIn<Owner>(
  store: ClaimStore<Owner>,
  family: Family,
  startNode: number,
  startSlots: number,
  length: number,
): Prefix | undefined {
  const { mem } = store;
  let node = startNode;
  let slots = startSlots;
  descend: for (;;) {
    const depth = mem[node + DEPTH]!;
    const touched = mem[node + TOUCHED]!;
    if (length <= depth + STRIDE) {
      const runs = runsOf(~touched & slots, length - depth);
      store.found = node;
      return runs === 0 ? undefined : store.blockAt(family, node, lowestBit(runs), length);
    }
    for (let rest = ~mem[node + COVERED]! & slots; rest !== 0; rest &= rest - 1) {
      const slot = lowestBit(rest);
      if (((touched >>> slot) & 1) === 0) return store.blockAt(family, node, slot, length);
      const child = store.childAt(node, slot);
      if (mem[child + DEPTH]! > depth + STRIDE) {
        const region = store.blockAt(family, node, slot, depth + STRIDE);
        return lowestAround(store, region, child, length);
      }
      if (mem[child + LARGEST]! <= length) {
        node = child;
        slots = ALL;
        continue descend;
      }
    }
    return undefined;
  }
}

/**
 * The lowest free block of `length` in a region where nothing is claimed
 * outside of `child`, which is no larger than the region.
 */
export function lowestAround<Owner>(
  store: ClaimStore<Owner>,
  region: Prefix,
  child: number,
  length: number,
): Prefix | undefined {
  const depth = store.mem[child + DEPTH]!;
  // The region's first part that the child may make a difference to.
  const first = Prefix.of(region, Math.min(length, depth));
  if (!store.agrees(child, first, first.length)) return Prefix.of(region, length);
  if (length > depth && store.mem[child + LARGEST]! <= length) {
    return lowestIn(store, region.family, child, ALL, length);
  }
  const behind = first.length === region.length ? undefined : first.next();
  return behind && Prefix.of(behind, length);
}

/** How many free blocks of `length` the given slots of the node hold; not saturated. */
export function countIn<Owner>(
  store: ClaimStore<Owner>,
  node: number,
  slots: number,
  length: number,
): number {
  const { mem } = store;
  const below = mem[node + DEPTH]! + STRIDE;
  const touched = mem[node + TOUCHED]!;
  const free = ~touched & slots;
  if (length <= below) return bitCount(runsOf(free, length - below + STRIDE));
  let count = bitCount(free) * 2 ** (length - below);
  for (let rest = ~mem[node + COVERED]! & touched & slots; rest !== 0; rest &= rest - 1) {
    count += countAround(store, below, store.childAt(node, lowestBit(rest)), length);
  }
  return count;
}

/**
 * The same for a region of `regionLength` around `child`. Powers of two, and
 * differences of two that are exact wherever they are not beyond saturation.
 */
export function countAround<Owner>(
  store: ClaimStore<Owner>,
  regionLength: number,
  child: number,
  length: number,
): number {
  const depth = store.mem[child + DEPTH]!;
  const all = 2 ** (length - regionLength);
  if (length <= depth) return all - 1;
  const inChild = store.mem[child + LARGEST]! <= length ? countIn(store, child, ALL, length) : 0;
  return all - 2 ** (length - depth) + inChild;
}
