import type { Family } from './family.ts';
import { Prefix } from './prefix.ts';
import { maskWord, type Words } from './words.ts';

/**
 * The memory of the claim trie: lines of sixteen int32 in one growing array,
 * one line for a node and one more for the children of a node that has any.
 * A line is 64 bytes, what a processor fetches at once. As objects, the same
 * trie was five times as large and three times as slow under churn: the time
 * went into waiting for memory and into the garbage collector.
 *
 * A node is the offset of its line. It stands for four bits of an address:
 * sixteen slots, and every claim whose length ends within those four bits.
 * The prefixes that can end there are numbered like a binary heap: 1 is the
 * node's whole range, 2 and 3 its halves, … 16 to 31 its slots. So one int32
 * says which are claimed, and its upper half is the slot bitmap itself. Four
 * bits, because they never straddle a word and because the field's own sizes
 * (/8, /16, /20, /24, /28, /48, /56, /64, /80, /96) then end on a slot.
 */
export const STRIDE = 4;

/** All sixteen slots. */
export const ALL = 0xffff;

/** The LARGEST of a node without any free block: longer than any prefix. */
export const NONE = 129;

/** int32s of a node: its fields, then the child of each slot or 0. */
const NODE = 32;
const CHILDREN = 16;
const CHUNK_BITS = 10;
const CHUNK_MASK = (1 << CHUNK_BITS) - 1;

// The fields of a node.
/** It divides the block of this many bits that its four words spell. A multiple of STRIDE. */
export const DEPTH = 0;
const W0 = 1;
const W1 = 2;
const W2 = 3;
const W3 = 4;
export const PARENT = 5;
/** Heap numbers that are claimed. */
export const CLAIMS = 6;
/** Slots with a child, and slots whose child leaves nothing of the slot free. */
export const KIDS = 7;
export const FULL_KIDS = 8;
/** Summary: slots with nothing free in them, … */
export const COVERED = 9;
/** … slots with anything claimed in them, … */
export const TOUCHED = 10;
/** … and the length of the largest block that is free in the whole node. */
export const LARGEST = 11;
/** The owner lines of the heap numbers 16 to 31 and 0 to 15, plus one; or 0. */
const SLOT_OWNERS = 12;
const OTHER_OWNERS = 13;
/** The slot of the parent that the node lies in. */
export const SLOT = 14;

export function rootOf(family: Family): number {
  return family === 'ipv4' ? 0 : NODE;
}

export class ClaimStore<Owner> {
  /** Read it anew after anything that may add a node: it moves when it grows. */
  mem = new Int32Array(32 * NODE);
  /** A node on the way to the block that the last search found. */
  found = 0;
  #end = 0;
  #free: number[] = [];

  /** Sixteen owners to a line, like the nodes; which of them count is in CLAIMS. */
  readonly #owners: Array<Owner | undefined>[] = [];
  #ownersEnd = 0;
  #freeOwnerLines: number[] = [];
  /** The second and further owners of a prefix: trouble, and therefore rare. */
  readonly #further = new Map<number, Owner[]>();
  #anyFurther = false;

  constructor() {
    const zero: Words = { w0: 0, w1: 0, w2: 0, w3: 0 };
    this.addNode(zero, 0);
    this.addNode(zero, 0);
  }

  /** An empty node; its maker attaches it, puts a claim into it and settles. */
  addNode(at: Words, depth: number): number {
    const node = this.#take();
    const { mem } = this;
    mem[node + DEPTH] = depth;
    mem[node + W0] = at.w0 & maskWord(depth, 0);
    mem[node + W1] = at.w1 & maskWord(depth, 1);
    mem[node + W2] = at.w2 & maskWord(depth, 2);
    mem[node + W3] = at.w3 & maskWord(depth, 3);
    mem[node + LARGEST] = depth;
    return node;
  }

  dropNode(node: number): void {
    const { mem } = this;
    if (mem[node + SLOT_OWNERS] !== 0) this.#freeOwnerLines.push(mem[node + SLOT_OWNERS]! - 1);
    if (mem[node + OTHER_OWNERS] !== 0) this.#freeOwnerLines.push(mem[node + OTHER_OWNERS]! - 1);
    this.#free.push(node);
  }

  childAt(node: number, slot: number): number {
    return this.mem[node + CHILDREN + slot]!;
  }

  attach(parent: number, child: number): void {
    const { mem } = this;
    const depth = mem[parent + DEPTH]!;
    const slot = (mem[child + W0 + (depth >>> 5)]! >>> (28 - (depth & 31))) & 15;
    mem[parent + CHILDREN + slot] = child;
    mem[parent + KIDS]! |= 1 << slot;
    mem[child + PARENT] = parent;
    mem[child + SLOT] = slot;
  }

  detach(child: number): void {
    const { mem } = this;
    const parent = mem[child + PARENT]!;
    const slot = mem[child + SLOT]!;
    mem[parent + CHILDREN + slot] = 0;
    mem[parent + KIDS]! &= ~(1 << slot);
    mem[parent + FULL_KIDS]! &= ~(1 << slot);
  }

  /** The first owner of a heap number that is claimed. */
  ownerAt(node: number, heap: number): Owner {
    const line = this.mem[node + (heap < 16 ? OTHER_OWNERS : SLOT_OWNERS)]! - 1;
    return this.#owners[line >>> CHUNK_BITS]![(line & CHUNK_MASK) + (heap & 15)] as Owner;
  }

  setOwner(node: number, heap: number, owner: Owner | undefined): void {
    const { mem } = this;
    const field = node + (heap < 16 ? OTHER_OWNERS : SLOT_OWNERS);
    if (mem[field] === 0) mem[field] = this.#addOwnerLine() + 1;
    const line = mem[field]! - 1;
    this.#owners[line >>> CHUNK_BITS]![(line & CHUNK_MASK) + (heap & 15)] = owner;
  }

  /** All owners of a heap number, in the order of recording. */
  ownersAt(node: number, heap: number): Owner[] {
    if (((this.mem[node + CLAIMS]! >>> heap) & 1) === 0) return [];
    const further = this.#further.get(node + heap);
    const first = this.ownerAt(node, heap);
    return further === undefined ? [first] : [first, ...further];
  }

  hasFurther(node: number, heap: number): boolean {
    return this.#anyFurther && this.#further.has(node + heap);
  }

  /** Replaces the owners of a heap number, one or more. */
  setOwners(node: number, heap: number, [first, ...further]: readonly [Owner, ...Owner[]]): void {
    this.setOwner(node, heap, first);
    if (further.length > 0) this.#further.set(node + heap, further);
    else this.#further.delete(node + heap);
    this.#anyFurther = this.#further.size > 0;
  }

  /** Do the first `length` bits of the node and of `at` agree? */
  agrees(node: number, at: Words, length: number): boolean {
    const { mem } = this;
    if (((mem[node + W0]! ^ at.w0) & maskWord(length, 0)) !== 0) return false;
    return length <= 32 || this.commonBits(node, at) >= length;
  }

  commonBits(node: number, at: Words): number {
    const { mem } = this;
    let bits = 0;
    bits += Math.clz32(mem[node + W0]! ^ at.w0);
    if (bits === 32) bits += Math.clz32(mem[node + W1]! ^ at.w1);
    if (bits === 64) bits += Math.clz32(mem[node + W2]! ^ at.w2);
    if (bits === 96) bits += Math.clz32(mem[node + W3]! ^ at.w3);
    return bits;
  }

  /** The block of `length` that begins with the slot. */
  blockAt(family: Family, node: number, slot: number, length: number): Prefix {
    const { mem } = this;
    const depth = mem[node + DEPTH]!;
    const bits = slot << (28 - (depth & 31));
    const word = depth >>> 5;
    if (word === 0) {
      return new Prefix(
        family,
        length,
        mem[node + W0]! | bits,
        mem[node + W1]!,
        mem[node + W2]!,
        mem[node + W3]!,
      );
    }
    return new Prefix(
      family,
      length,
      mem[node + W0]!,
      mem[node + W1]! | (word === 1 ? bits : 0),
      mem[node + W2]! | (word === 2 ? bits : 0),
      mem[node + W3]! | (word === 3 ? bits : 0),
    );
  }

  /** The prefix that a heap number stands for: it is known from its place, and not kept. */
  prefixAt(family: Family, node: number, heap: number): Prefix {
    const level = 31 - Math.clz32(heap);
    const slot = (heap - (1 << level)) << (STRIDE - level);
    return this.blockAt(family, node, slot, this.mem[node + DEPTH]! + level);
  }

  #take(): number {
    const freed = this.#free.pop();
    if (freed !== undefined) {
      const { mem } = this;
      for (let i = freed; i < freed + NODE; i++) mem[i] = 0;
      return freed;
    }
    const node = this.#end;
    this.#end += NODE;
    if (this.#end > this.mem.length) {
      const larger = new Int32Array(2 * this.mem.length);
      larger.set(this.mem);
      this.mem = larger;
    }
    return node;
  }

  #addOwnerLine(): number {
    const freed = this.#freeOwnerLines.pop();
    if (freed !== undefined) return freed;
    const line = this.#ownersEnd;
    this.#ownersEnd += 16;
    if ((line & CHUNK_MASK) === 0) this.#owners.push(new Array(1 << CHUNK_BITS));
    return line;
  }
}
