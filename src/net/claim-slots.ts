import type { Prefix } from './prefix.ts';
import type { Words } from './words.ts';

/** Arithmetic of the sixteen slots of a node: plain numbers in, plain numbers out. */

/** The depth of the node in which a prefix of this length ends. */
export function depthOf(length: number): number {
  return length === 0 ? 0 : (length - 1) & -4;
}

/** The slot of a node of `depth` that an address lies in. */
export function slotAt(at: Words, depth: number): number {
  const word = depth < 64 ? (depth < 32 ? at.w0 : at.w1) : depth < 96 ? at.w2 : at.w3;
  return (word >>> (28 - (depth & 31))) & 15;
}

/** The heap number of a prefix that ends in a node of `depth`. */
export function heapAt(prefix: Prefix, depth: number): number {
  const bits = prefix.length - depth;
  return (1 << bits) | (slotAt(prefix, depth) >>> (4 - bits));
}

/** The slots that a heap number spans. */
export function slotsOf(heap: number): number {
  const level = 31 - Math.clz32(heap);
  const width = 16 >> level;
  return ((1 << width) - 1) << ((heap - (1 << level)) * width);
}

const spansOfEight = (first: number) =>
  Uint16Array.from({ length: 256 }, (_, bits) => {
    let slots = 0;
    for (let i = 0; i < 8; i++) {
      if ((bits >> i) & 1 && first + i > 0) slots |= slotsOf(first + i);
    }
    return slots;
  });
const spansOf0To7 = spansOfEight(0);
const spansOf8To15 = spansOfEight(8);

/** The slots that the claimed heap numbers of a node span together. */
export function claimedSlots(claims: number): number {
  if ((claims & 0xffff) === 0) return claims >>> 16;
  return (claims >>> 16) | spansOf8To15[(claims >>> 8) & 255]! | spansOf0To7[claims & 255]!;
}

/** The slots of `empty` at which an aligned run begins that makes a block of `bits` below the node. */
export function runsOf(empty: number, bits: number): number {
  if (bits === 4) return empty;
  let runs = empty & (empty >>> 1) & 0x5555;
  if (bits === 3) return runs;
  runs &= (runs >>> 2) & 0x1111;
  if (bits === 2) return runs;
  runs &= (runs >>> 4) & 0x0101;
  return bits === 1 ? runs : runs & (runs >>> 8) & 1;
}

/** How many bits below the node the largest of the aligned runs is; there must be one. */
export function bitsOfLargestRun(empty: number): number {
  let runs = empty & (empty >>> 1) & 0x5555;
  if (runs === 0) return 4;
  runs &= (runs >>> 2) & 0x1111;
  if (runs === 0) return 3;
  runs &= (runs >>> 4) & 0x0101;
  if (runs === 0) return 2;
  return empty === 0xffff ? 0 : 1;
}

export function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

export function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}
