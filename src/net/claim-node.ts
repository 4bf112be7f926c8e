import type { Family } from './family.ts';
import type { Prefix } from './prefix.ts';
import { commonBits, maskWord, type Words } from './words.ts';

/**
 * A node of the claim trie: four bits of an address, sixteen slots, and every
 * claim whose length ends within those four bits.
 *
 * The prefixes that can end in a node are numbered like a binary heap: 1 is the
 * node's whole range, 2 and 3 its halves, … 16 to 31 its sixteen slots. All of
 * them fit one int32 bitmap, and its upper half is the slot bitmap itself.
 * Four bits, because they never straddle a word and because the field's sizes
 * (/8, /16, /20, /24, /28, /48, /56, /64, /80, /96) then end on a slot.
 */
export const STRIDE = 4;

/** All sixteen slots. */
export const ALL = 0xffff;

/** The `largest` of a node without any free block: longer than any prefix. */
export const NONE = 129;

export interface Claim<Owner> {
  readonly prefix: Prefix;
  readonly owner: Owner;
}

export class ClaimNode<Owner> implements Words {
  readonly family: Family;
  /** The node divides the block of `depth` bits that its words spell. A multiple of STRIDE. */
  readonly depth: number;
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
  parent: ClaimNode<Owner> | undefined = undefined;

  /** Which heap numbers are claimed. */
  claims = 0;
  /** The claim at a heap number; the second and further owners of the same prefix are in `more`. */
  entries: Array<Claim<Owner> | undefined> | undefined = undefined;
  more: Claim<Owner>[] | undefined = undefined;

  /** Slots with a child, and those whose child leaves nothing of the slot free. */
  kids = 0;
  fullKids = 0;
  /** A child may lie deeper than its slot: levels where nothing branches are left out. */
  children: Array<ClaimNode<Owner> | undefined> | undefined = undefined;

  /** The summary, kept by `settle`: slots with nothing free in them, … */
  covered = 0;
  /** … slots with anything claimed in them, … */
  touched = 0;
  /** … and the length of the largest block that is free in the whole node. */
  largest: number;

  constructor(at: Words & { readonly family: Family }, depth: number) {
    this.family = at.family;
    this.depth = depth;
    this.w0 = at.w0 & maskWord(depth, 0);
    this.w1 = at.w1 & maskWord(depth, 1);
    this.w2 = at.w2 & maskWord(depth, 2);
    this.w3 = at.w3 & maskWord(depth, 3);
    this.largest = depth;
  }
}

/** The depth of the node in which a prefix of this length ends. */
export function depthOf(length: number): number {
  return length === 0 ? 0 : (length - 1) & -STRIDE;
}

/** The slot of a node of `depth` that an address lies in. */
export function slotAt(at: Words, depth: number): number {
  const word = depth < 64 ? (depth < 32 ? at.w0 : at.w1) : depth < 96 ? at.w2 : at.w3;
  return (word >>> (28 - (depth & 31))) & 15;
}

/** The heap number of a prefix that ends in a node of `depth`. */
export function heapAt(prefix: Prefix, depth: number): number {
  const bits = prefix.length - depth;
  return (1 << bits) | (slotAt(prefix, depth) >>> (STRIDE - bits));
}

/** The slots that the prefix with this heap number spans. */
export function slotsOf(heap: number): number {
  const level = 31 - Math.clz32(heap);
  const width = 16 >> level;
  return ((1 << width) - 1) << ((heap - (1 << level)) * width);
}

const spans = (offset: number) =>
  Uint16Array.from({ length: 256 }, (_, bits) => {
    let slots = 0;
    for (let i = 0; i < 8; i++) {
      if ((bits >> i) & 1 && offset + i > 0) slots |= slotsOf(offset + i);
    }
    return slots;
  });
const spansOf1To7 = spans(0);
const spansOf8To15 = spans(8);

/** The slots that claims in the node itself cover. */
function claimedSlots(claims: number): number {
  return (claims >>> 16) | spansOf8To15[(claims >>> 8) & 255]! | spansOf1To7[claims & 255]!;
}

/** The slots of `free` at which an aligned run begins that is a block of `bits` more than the node. */
export function runsOf(free: number, bits: number): number {
  if (bits === 4) return free;
  let runs = free & (free >>> 1) & 0x5555;
  if (bits === 3) return runs;
  runs &= (runs >>> 2) & 0x1111;
  if (bits === 2) return runs;
  runs &= (runs >>> 4) & 0x0101;
  return bits === 1 ? runs : runs & (runs >>> 8) & 1;
}

export function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

function largestFree(node: ClaimNode<unknown>): number {
  const { depth } = node;
  const free = ~node.touched & ALL;
  if (free !== 0) {
    let bits = STRIDE;
    while (bits > 0 && runsOf(free, bits - 1) !== 0) bits--;
    return depth + bits;
  }
  let largest = NONE;
  for (let rest = ~node.covered & ALL; rest !== 0; rest &= rest - 1) {
    const child = node.children![lowestBit(rest)]!;
    // A child below its slot's own level lies in one half of the slot; the other half is free.
    const here = child.depth > depth + STRIDE ? depth + STRIDE + 1 : child.largest;
    if (here < largest) largest = here;
    if (largest === depth + STRIDE + 1) break;
  }
  return largest;
}

/** Brings the summaries up to date from `node` upwards, as far as they change. */
export function settle<Owner>(changed: ClaimNode<Owner>): void {
  let node = changed;
  for (;;) {
    const { largest, covered, parent } = node;
    const own = claimedSlots(node.claims);
    node.covered = own | node.fullKids;
    node.touched = own | node.kids;
    node.largest = largestFree(node);
    if (parent === undefined) return;
    if (node.largest === largest && (node.covered === ALL) === (covered === ALL)) return;
    markFull(parent, node);
    node = parent;
  }
}

/** A child fills its slot if it is all covered and no level between the two was left out. */
function markFull<Owner>(parent: ClaimNode<Owner>, child: ClaimNode<Owner>): void {
  const bit = 1 << slotAt(child, parent.depth);
  if (child.covered === ALL && child.depth === parent.depth + STRIDE) parent.fullKids |= bit;
  else parent.fullKids &= ~bit;
}

function attach<Owner>(parent: ClaimNode<Owner>, child: ClaimNode<Owner>): void {
  const slot = slotAt(child, parent.depth);
  parent.children ??= new Array<ClaimNode<Owner> | undefined>(16);
  parent.children[slot] = child;
  parent.kids |= 1 << slot;
  child.parent = parent;
  markFull(parent, child);
}

/**
 * The node in which `prefix` ends, made if it is missing, under `root`. A new
 * node is empty; its maker puts a claim into it and settles.
 */
export function nodeFor<Owner>(root: ClaimNode<Owner>, prefix: Prefix): ClaimNode<Owner> {
  const depth = depthOf(prefix.length);
  let node = root;
  while (node.depth < depth) {
    const slot = slotAt(prefix, node.depth);
    if (((node.kids >>> slot) & 1) === 0) {
      const leaf = new ClaimNode<Owner>(prefix, depth);
      attach(node, leaf);
      return leaf;
    }
    const child = node.children![slot]!;
    const common = child.depth === node.depth + STRIDE ? child.depth : commonBits(prefix, child);
    if (common < child.depth || child.depth > depth) {
      // The two part ways on a level that was left out: it gets its node now.
      const branch = new ClaimNode<Owner>(prefix, Math.min(depth, common & -STRIDE));
      attach(node, branch);
      attach(branch, child);
      node = branch;
    } else node = child;
  }
  return node;
}

/** After claims or children of `node` went: drops what is no longer needed, and settles the rest. */
export function tidy<Owner>(node: ClaimNode<Owner>): void {
  const { parent, kids } = node;
  if (parent === undefined || node.claims !== 0 || (kids & (kids - 1)) !== 0) {
    settle(node);
  } else if (kids === 0) {
    const slot = slotAt(node, parent.depth);
    parent.children![slot] = undefined;
    parent.kids &= ~(1 << slot);
    parent.fullKids &= ~(1 << slot);
    tidy(parent);
  } else {
    attach(parent, node.children![lowestBit(kids)]!);
    settle(parent);
  }
}
