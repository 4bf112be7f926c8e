import type { ClaimNodes } from './claim-nodes.ts';
import { bitCount, lowestBit, runsOf } from './claim-slots.ts';
import type { Family } from './family.ts';
import { Prefix } from './prefix.ts';

/**
 * Finding and counting free blocks. Every step either decides on bitmaps or
 * goes down into a slot of which the summary already promises success, so the
 * cost is the depth of the trie at any fill level.
 */

/** The lowest free block of `length` in the given slots of the node. */
export function lowestIn(
  nodes: ClaimNodes,
  family: Family,
  start: number,
  startSlots: number,
  length: number,
): Prefix | undefined {
  const { mem } = nodes;
  let node = start;
  let slots = startSlots;
  let depth = nodes.depth(node);
  descend: for (;;) {
    const free = mem[node + 5]!;
    if (length <= depth + 4) {
      const runs = runsOf((free >>> 16) & slots, length - depth);
      if (runs === 0) return undefined;
      nodes.foundIn = node;
      return nodes.blockAt(family, node, lowestBit(runs), length);
    }
    for (let rest = free & slots; rest !== 0; rest &= rest - 1) {
      const slot = lowestBit(rest);
      if (((free >>> slot) & 0x10000) !== 0) return nodes.blockAt(family, node, slot, length);
      const child = mem[node + 16 + slot]!;
      const head = mem[child]!;
      if ((head & 0xff) !== depth + 4) {
        return lowestAround(nodes, nodes.blockAt(family, node, slot, depth + 4), child, length);
      }
      if (head >>> 16 <= length) {
        node = child;
        depth += 4;
        slots = 0xffff;
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
export function lowestAround(
  nodes: ClaimNodes,
  region: Prefix,
  child: number,
  length: number,
): Prefix | undefined {
  const depth = nodes.depth(child);
  // The region's first part that the child may make a difference to.
  const first = Prefix.of(region, Math.min(length, depth));
  if (!nodes.agrees(child, first, first.length)) return Prefix.of(region, length);
  if (length > depth && nodes.largest(child) <= length) {
    return lowestIn(nodes, region.family, child, 0xffff, length);
  }
  const behind = first.length === region.length ? undefined : first.next();
  return behind && Prefix.of(behind, length);
}

/** How many free blocks of `length` the given slots of the node hold; not saturated. */
export function countIn(nodes: ClaimNodes, node: number, slots: number, length: number): number {
  const depth = nodes.depth(node);
  const free = nodes.free(node);
  const empty = (free >>> 16) & slots;
  if (length <= depth + 4) return bitCount(runsOf(empty, length - depth));
  let count = bitCount(empty) * 2 ** (length - depth - 4);
  for (let rest = free & slots & ~empty; rest !== 0; rest &= rest - 1) {
    count += countAround(nodes, depth + 4, nodes.child(node, lowestBit(rest)), length);
  }
  return count;
}

/**
 * The same for a region of `regionLength` around `child`. Powers of two, and
 * differences of two that are exact wherever they are not beyond saturation.
 */
export function countAround(
  nodes: ClaimNodes,
  regionLength: number,
  child: number,
  length: number,
): number {
  const depth = nodes.depth(child);
  const all = 2 ** (length - regionLength);
  if (length <= depth) return all - 1;
  const inChild = nodes.largest(child) <= length ? countIn(nodes, child, 0xffff, length) : 0;
  return all - 2 ** (length - depth) + inChild;
}
