import { type Family, families } from './family.ts';
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
 *   0       head: depth, slot in the parent (bit 8), is IPv6 (bit 12), largest (bit 16)
 *   1       the first word; 12 to 14 the others, which IPv4 does not need
 *   2       parent
 *   3       claims
 *   4       kids
 *   5       free
 *   6, 7    owner lines
 *   16…31   children
 *
 * The accessors below explain them. The loops of claim-tree, claim-search and
 * claim-index read the array itself, by these literals: a bundler turns the
 * constants of a module into variables, which doubled the instructions of
 * every step, and a JIT compiler inlines only so many calls.
 */
export class ClaimNodes {
  /** Moves when it grows: read it anew after `add`. */
  mem = new Int32Array(32 * 32);
  /** The node in which the last search found a block that ends in it; 0 for none. */
  foundIn = 0;
  #end = 0;
  readonly #free: number[] = [];
  /**
   * Some node for each pattern of the bits right above it: for an exact look-up
   * it is mostly the one, and saves the way down. As many as there are nodes.
   */
  #shortcuts = new Int32Array(32);

  constructor() {
    for (const family of families) this.add(family, { w0: 0, w1: 0, w2: 0, w3: 0 }, 0);
  }

  /** Nodes there is memory for, those dropped included. */
  get count(): number {
    return this.#end / 32;
  }

  root(family: Family): number {
    return family === 'ipv4' ? 0 : 32;
  }

  /** The node divides the block of this many bits that its words spell. A multiple of four. */
  depth(node: number): number {
    return this.mem[node]! & 0xff;
  }

  /** The slot of the parent that the node lies in. */
  slot(node: number): number {
    return (this.mem[node]! >>> 8) & 15;
  }

  /** Summary: the length of the largest block that is free in the node; above 128 if none is. */
  largest(node: number): number {
    return this.mem[node]! >>> 16;
  }

  parent(node: number): number {
    return this.mem[node + 2]!;
  }

  /** The heap numbers that are claimed. */
  claims(node: number): number {
    return this.mem[node + 3]!;
  }
  setClaims(node: number, heaps: number): void {
    this.mem[node + 3] = heaps;
  }

  /** The slots with a child. */
  kids(node: number): number {
    return this.mem[node + 4]!;
  }

  /** Summary: the slots with anything free in them; from bit 16 those with nothing claimed in them. */
  free(node: number): number {
    return this.mem[node + 5]!;
  }

  /** Where the owners of the heap numbers 16 to 31, or 0 to 15, are kept; 0 for nowhere. */
  ownerLine(node: number, heap: number): number {
    return this.mem[heap < 16 ? node + 7 : node + 6]!;
  }
  setOwnerLine(node: number, heap: number, line: number): void {
    this.mem[heap < 16 ? node + 7 : node + 6] = line;
  }

  /** The child in the slot, or 0: the root of IPv4 is nobody's child. */
  child(node: number, slot: number): number {
    return this.mem[node + 16 + slot]!;
  }

  attach(parent: number, child: number): void {
    const { mem } = this;
    const depth = this.depth(parent);
    const word = mem[depth < 32 ? child + 1 : child + 11 + (depth >>> 5)]!;
    const slot = (word >>> (28 - (depth & 31))) & 15;
    mem[child] = (mem[child]! & ~0xf00) | (slot << 8);
    mem[child + 2] = parent;
    mem[parent + 4]! |= 1 << slot;
    mem[parent + 16 + slot] = child;
  }

  detach(child: number): void {
    const { mem } = this;
    const parent = this.parent(child);
    const slot = this.slot(child);
    mem[parent + 4]! &= ~(1 << slot);
    mem[parent + 16 + slot] = 0;
  }

  /** A node in which everything is free. */
  add(family: Family, at: Words, depth: number): number {
    const node = this.#take();
    const { mem } = this;
    mem[node] = depth | (family === 'ipv6' ? 0x1000 : 0) | (depth << 16);
    mem[node + 1] = at.w0 & maskWord(depth, 0);
    mem[node + 12] = at.w1 & maskWord(depth, 1);
    mem[node + 13] = at.w2 & maskWord(depth, 2);
    mem[node + 14] = at.w3 & maskWord(depth, 3);
    mem[node + 5] = -1;
    return node;
  }

  drop(node: number): void {
    // A depth that no look-up asks for: shortcuts to it lead nowhere from now on.
    this.mem[node] = 0xff;
    this.#free.push(node);
  }

  /** The node of `depth` that the prefix lies in, if a shortcut knows it; else 0. */
  shortcut(prefix: Prefix, depth: number): number {
    const node = this.#shortcuts[this.#patternOf(prefix, depth)]!;
    const kind = prefix.family === 'ipv6' ? depth | 0x1000 : depth;
    return (this.mem[node]! & 0x10ff) === kind && this.agrees(node, prefix, depth) ? node : 0;
  }

  remember(prefix: Prefix, depth: number, node: number): void {
    this.#shortcuts[this.#patternOf(prefix, depth)] = node;
  }

  #patternOf(at: Words, depth: number): number {
    const last = depth - 1;
    const word = last < 64 ? (last < 32 ? at.w0 : at.w1) : last < 96 ? at.w2 : at.w3;
    return (word >>> (31 - (last & 31))) & (this.#shortcuts.length - 1);
  }

  commonBits(node: number, at: Words): number {
    const { mem } = this;
    let bits = Math.clz32(mem[node + 1]! ^ at.w0);
    if (bits === 32) bits += Math.clz32(mem[node + 12]! ^ at.w1);
    if (bits === 64) bits += Math.clz32(mem[node + 13]! ^ at.w2);
    if (bits === 96) bits += Math.clz32(mem[node + 14]! ^ at.w3);
    return bits;
  }

  /** Do the first `length` bits of the node and of `at` agree? */
  agrees(node: number, at: Words, length: number): boolean {
    if (length > 32) return this.commonBits(node, at) >= length;
    return length === 0 || (this.mem[node + 1]! ^ at.w0) >>> (32 - length) === 0;
  }

  /** The block of `length` that begins with the slot. */
  blockAt(family: Family, node: number, slot: number, length: number): Prefix {
    const { mem } = this;
    const depth = this.depth(node);
    const bits = slot << (28 - (depth & 31));
    if (family === 'ipv4') return new Prefix('ipv4', length, mem[node + 1]! | bits, 0, 0, 0);
    const word = depth >>> 5;
    return new Prefix(
      'ipv6',
      length,
      mem[node + 1]! | (word === 0 ? bits : 0),
      mem[node + 12]! | (word === 1 ? bits : 0),
      mem[node + 13]! | (word === 2 ? bits : 0),
      mem[node + 14]! | (word === 3 ? bits : 0),
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
      const { mem } = this;
      for (let i = freed; i < freed + 32; i++) mem[i] = 0;
      return freed;
    }
    const node = this.#end;
    this.#end += 32;
    if (this.#end > this.mem.length) {
      const larger = new Int32Array(2 * this.mem.length);
      larger.set(this.mem);
      this.mem = larger;
      this.#shortcuts = new Int32Array(larger.length / 32);
    }
    return node;
  }
}
