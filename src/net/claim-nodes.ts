import type { Family } from './family.ts';
import { Prefix } from './prefix.ts';
import { maskWord, type Words } from './words.ts';

/**
 * The nodes of the claim trie, in one growing array of int32: 32 for a node,
 * its fields and then the child of each slot. A node is the offset of its
 * first int32. As objects, the same trie took five times the memory and three
 * times the time under churn; it went into cache misses and the collector.
 *
 * A node stands for four bits of an address: sixteen slots, and every claim
 * whose length ends within those four bits. The prefixes that can end there
 * are numbered like a binary heap: 1 is the node's whole range, 2 and 3 its
 * halves, … 16 to 31 its slots. So one int32 says which are claimed, and its
 * upper half is the bitmap of the slots. Four bits, because they never
 * straddle a word and because the sizes in use (/8, /16, /20, /24, /28, /48,
 * /56, /64, /80, /96) then end on a slot.
 *
 * The offsets of the fields are literals, each written in its two accessors
 * and nowhere else: a bundler turns a module's constants into variables, which
 * doubles the instructions of every access.
 */
export class ClaimNodes {
  #mem = new Int32Array(32 * 32);
  #end = 0;
  readonly #free: number[] = [];

  constructor() {
    const zero: Words = { w0: 0, w1: 0, w2: 0, w3: 0 };
    this.add(zero, 0);
    this.add(zero, 0);
  }

  root(family: Family): number {
    return family === 'ipv4' ? 0 : 32;
  }

  /** The node divides the block of this many bits that its words spell. A multiple of four. */
  depth(node: number): number {
    return this.#mem[node]!;
  }

  // The four words are at 1 and 12 to 14: what IPv4 needs comes first, within one cache line.

  parent(node: number): number {
    return this.#mem[node + 2]!;
  }

  /** The slot of the parent that the node lies in. */
  slot(node: number): number {
    return this.#mem[node + 3]!;
  }

  /** The heap numbers that are claimed. */
  claims(node: number): number {
    return this.#mem[node + 4]!;
  }
  setClaims(node: number, heaps: number): void {
    this.#mem[node + 4] = heaps;
  }

  /** The slots that have a child. */
  kids(node: number): number {
    return this.#mem[node + 5]!;
  }

  /** The slots whose child leaves nothing of the slot free. */
  fullKids(node: number): number {
    return this.#mem[node + 6]!;
  }
  setFullKids(node: number, slots: number): void {
    this.#mem[node + 6] = slots;
  }

  /** Summary: the slots with anything free in them, … */
  open(node: number): number {
    return this.#mem[node + 7]!;
  }
  setOpen(node: number, slots: number): void {
    this.#mem[node + 7] = slots;
  }

  /** … the slots with nothing claimed in them, … */
  empty(node: number): number {
    return this.#mem[node + 8]!;
  }
  setEmpty(node: number, slots: number): void {
    this.#mem[node + 8] = slots;
  }

  /** … and the length of the largest block that is free in the whole node; above 128 if none is. */
  largest(node: number): number {
    return this.#mem[node + 9]!;
  }
  setLargest(node: number, length: number): void {
    this.#mem[node + 9] = length;
  }

  /** Where the owners of the heap numbers 16 to 31, or 0 to 15, are kept; 0 for nowhere yet. */
  ownerLine(node: number, heap: number): number {
    return this.#mem[heap < 16 ? node + 11 : node + 10]!;
  }
  setOwnerLine(node: number, heap: number, line: number): void {
    this.#mem[heap < 16 ? node + 11 : node + 10] = line;
  }

  /** The child in the slot, or 0: the root of IPv4 is nobody's child. */
  child(node: number, slot: number): number {
    return this.#mem[node + 16 + slot]!;
  }

  attach(parent: number, child: number): void {
    const mem = this.#mem;
    const depth = mem[parent]!;
    const slot =
      (mem[depth < 32 ? child + 1 : child + 11 + (depth >>> 5)]! >>> (28 - (depth & 31))) & 15;
    mem[child + 2] = parent;
    mem[child + 3] = slot;
    mem[parent + 5]! |= 1 << slot;
    mem[parent + 16 + slot] = child;
  }

  detach(child: number): void {
    const mem = this.#mem;
    const parent = mem[child + 2]!;
    const slot = mem[child + 3]!;
    mem[parent + 5]! &= ~(1 << slot);
    mem[parent + 16 + slot] = 0;
  }

  /** A node in which everything is free. */
  add(at: Words, depth: number): number {
    const node = this.#take();
    const mem = this.#mem;
    mem[node] = depth;
    mem[node + 1] = at.w0 & maskWord(depth, 0);
    mem[node + 12] = at.w1 & maskWord(depth, 1);
    mem[node + 13] = at.w2 & maskWord(depth, 2);
    mem[node + 14] = at.w3 & maskWord(depth, 3);
    this.setOpen(node, 0xffff);
    this.setEmpty(node, 0xffff);
    this.setLargest(node, depth);
    return node;
  }

  drop(node: number): void {
    this.#free.push(node);
  }

  commonBits(node: number, at: Words): number {
    const mem = this.#mem;
    let bits = Math.clz32(mem[node + 1]! ^ at.w0);
    if (bits === 32) bits += Math.clz32(mem[node + 12]! ^ at.w1);
    if (bits === 64) bits += Math.clz32(mem[node + 13]! ^ at.w2);
    if (bits === 96) bits += Math.clz32(mem[node + 14]! ^ at.w3);
    return bits;
  }

  /** Do the first `length` bits of the node and of `at` agree? */
  agrees(node: number, at: Words, length: number): boolean {
    if (length > 32) return this.commonBits(node, at) >= length;
    return length === 0 || (this.#mem[node + 1]! ^ at.w0) >>> (32 - length) === 0;
  }

  /** The block of `length` that begins with the slot. */
  blockAt(family: Family, node: number, slot: number, length: number): Prefix {
    const mem = this.#mem;
    const depth = mem[node]!;
    const bits = slot << (28 - (depth & 31));
    const word = depth >>> 5;
    return new Prefix(
      family,
      length,
      word === 0 ? mem[node + 1]! | bits : mem[node + 1]!,
      word === 1 ? mem[node + 12]! | bits : mem[node + 12]!,
      word === 2 ? mem[node + 13]! | bits : mem[node + 13]!,
      word === 3 ? mem[node + 14]! | bits : mem[node + 14]!,
    );
  }

  /** The prefix that a heap number stands for: it is known from its place, and not kept. */
  prefixAt(family: Family, node: number, heap: number): Prefix {
    const level = 31 - Math.clz32(heap);
    const slot = (heap - (1 << level)) << (4 - level);
    return this.blockAt(family, node, slot, this.depth(node) + level);
  }

  #take(): number {
    const freed = this.#free.pop();
    if (freed !== undefined) {
      const mem = this.#mem;
      for (let i = freed; i < freed + 32; i++) mem[i] = 0;
      return freed;
    }
    const node = this.#end;
    this.#end += 32;
    if (this.#end > this.#mem.length) {
      const larger = new Int32Array(2 * this.#mem.length);
      larger.set(this.#mem);
      this.#mem = larger;
    }
    return node;
  }
}
