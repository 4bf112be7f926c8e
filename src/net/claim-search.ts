import { ALL, type ClaimNode, lowestBit, runsOf, STRIDE } from './claim-node.ts';
import { Prefix } from './prefix.ts';
import { agree, type Words } from './words.ts';

/**
 * Finding and counting free blocks. Every step either decides on bitmaps or
 * goes down into a slot of which the summary already promises success, so the
 * cost is the depth of the trie at any fill level.
 */

/** The lowest free block of `length` in the given slots of the node. */
export function lowestIn(
  start: ClaimNode<unknown>,
  startSlots: number,
  length: number,
): Prefix | undefined {
  let node = start;
  let slots = startSlots;
  descend: for (;;) {
    const below = node.depth + STRIDE;
    if (length <= below) {
      const runs = runsOf(~node.touched & slots, length - node.depth);
      return runs === 0 ? undefined : blockAt(node, lowestBit(runs), length);
    }
    for (let rest = ~node.covered & slots; rest !== 0; rest &= rest - 1) {
      const slot = lowestBit(rest);
      if (((node.touched >>> slot) & 1) === 0) return blockAt(node, slot, length);
      const child = node.children![slot]!;
      if (child.depth > below) return lowestAround(Prefix.of(child, below), child, length);
      if (child.largest <= length) {
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
export function lowestAround(
  region: Prefix,
  child: ClaimNode<unknown>,
  length: number,
): Prefix | undefined {
  if (!agree(region, child, Math.min(length, child.depth))) return behind(region, 0, length);
  if (length > child.depth && child.largest <= length) return lowestIn(child, ALL, length);
  // The region begins with a block (of this length, or the child's range) that is no use.
  const used = Math.min(length, child.depth);
  return used === region.length ? undefined : behind(region, used, length);
}

/** The block of `length` at the region's start, or right behind the first `skipped` length's worth. */
function behind(region: Prefix, skipped: number, length: number): Prefix {
  const { family, w0, w1, w2, w3 } = region;
  if (skipped === 0) return new Prefix(family, length, w0, w1, w2, w3);
  return withBits(region, family, skipped - 1, 1 << (31 - ((skipped - 1) & 31)), length);
}

/** The block of `length` at the start of a slot. */
function blockAt(node: ClaimNode<unknown>, slot: number, length: number): Prefix {
  const { family, depth } = node;
  const bits = slot << (28 - (depth & 31));
  if (depth < 32) return new Prefix(family, length, node.w0 | bits, node.w1, node.w2, node.w3);
  return withBits(node, family, depth, bits, length);
}

function withBits(
  at: Words,
  family: Prefix['family'],
  position: number,
  bits: number,
  length: number,
): Prefix {
  const index = position >>> 5;
  return new Prefix(
    family,
    length,
    index === 0 ? at.w0 | bits : at.w0,
    index === 1 ? at.w1 | bits : at.w1,
    index === 2 ? at.w2 | bits : at.w2,
    index === 3 ? at.w3 | bits : at.w3,
  );
}

/** How many free blocks of `length` the given slots of the node hold; not saturated. */
export function countIn(node: ClaimNode<unknown>, slots: number, length: number): number {
  const below = node.depth + STRIDE;
  const free = ~node.touched & slots;
  if (length <= below) return bitCount(runsOf(free, length - node.depth));
  let count = bitCount(free) * 2 ** (length - below);
  for (let rest = ~node.covered & node.touched & slots; rest !== 0; rest &= rest - 1) {
    count += countAround(below, node.children![lowestBit(rest)]!, length);
  }
  return count;
}

/**
 * The same for a region of `regionLength` around `child`. Powers of two, and
 * differences of two that are exact wherever they are not beyond saturation.
 */
export function countAround(
  regionLength: number,
  child: ClaimNode<unknown>,
  length: number,
): number {
  const all = 2 ** (length - regionLength);
  if (length <= child.depth) return all - 1;
  const inChild = child.largest <= length ? countIn(child, ALL, length) : 0;
  return all - 2 ** (length - child.depth) + inChild;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}
