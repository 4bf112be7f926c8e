import { afiIpv4, type UnicastAfi } from '../wire/afi-safi.ts';

/** Called for each entry; `value` is what was set. */
type RouteVisitor = (
  w0: number,
  w1: number,
  w2: number,
  w3: number,
  length: number,
  pathId: number,
  value: number,
  stale: boolean,
) => void;

const staleBit = 0x80000000 | 0;
const valueBits = 0x7fffffff;
const firstCapacity = 1024;
/** Linear probing stays short up to here; beyond, the table doubles. */
const maxLoad = 0.7;

/**
 * Prefix and path identifier → a positive integer, for one family: a hash table
 * in typed arrays. A million IPv4 routes take 19 MB here and no object at all;
 * a Map of strings would take ten times that, and the garbage collector would
 * walk it for ever.
 *
 * Open addressing with linear probing. A removal moves later entries of the
 * chain back instead of leaving a tombstone, so a table that flaps does not
 * degrade. A value of 0 is an empty slot; the sign bit marks a stale entry.
 */
export class RouteTable {
  readonly afi: UnicastAfi;
  readonly #words: 1 | 4;
  #capacity = firstCapacity;
  #size = 0;
  #addresses: Int32Array;
  #lengths: Uint8Array;
  #values: Int32Array;
  /** Only once a path identifier other than 0 was seen. */
  #pathIds: Uint32Array | undefined;

  constructor(afi: UnicastAfi) {
    this.afi = afi;
    this.#words = afi === afiIpv4 ? 1 : 4;
    this.#addresses = new Int32Array(firstCapacity * this.#words);
    this.#lengths = new Uint8Array(firstCapacity);
    this.#values = new Int32Array(firstCapacity);
  }

  get size(): number {
    return this.#size;
  }

  /** Sets a fresh value and returns the one before, 0 if there was none. */
  set(
    w0: number,
    w1: number,
    w2: number,
    w3: number,
    length: number,
    pathId: number,
    value: number,
  ): number {
    if (this.#size >= this.#capacity * maxLoad) this.#grow();
    if (pathId !== 0 && this.#pathIds === undefined) {
      this.#pathIds = new Uint32Array(this.#capacity);
    }
    const slot = this.#find(w0, w1, w2, w3, length, pathId);
    const before = this.#values[slot]!;
    this.#values[slot] = value;
    if (before !== 0) return before & valueBits;
    this.#size++;
    this.#write(slot, w0, w1, w2, w3, length, pathId);
    return 0;
  }

  /** The value, 0 if there is none. */
  get(w0: number, w1: number, w2: number, w3: number, length: number, pathId: number): number {
    if (pathId !== 0 && this.#pathIds === undefined) return 0;
    return this.#values[this.#find(w0, w1, w2, w3, length, pathId)]! & valueBits;
  }

  isStale(w0: number, w1: number, w2: number, w3: number, length: number, pathId: number): boolean {
    return this.#values[this.#find(w0, w1, w2, w3, length, pathId)]! < 0;
  }

  /** Removes an entry and returns its value, 0 if there was none. */
  delete(w0: number, w1: number, w2: number, w3: number, length: number, pathId: number): number {
    if (pathId !== 0 && this.#pathIds === undefined) return 0;
    const slot = this.#find(w0, w1, w2, w3, length, pathId);
    const value = this.#values[slot]!;
    if (value === 0) return 0;
    this.#size--;
    this.#closeGap(slot);
    return value & valueBits;
  }

  visit(visitor: RouteVisitor): void {
    for (let slot = 0; slot < this.#capacity; slot++) {
      const value = this.#values[slot]!;
      if (value !== 0) this.#visitSlot(slot, value, visitor);
    }
  }

  markAllStale(): void {
    const values = this.#values;
    for (let slot = 0; slot < values.length; slot++) {
      if (values[slot] !== 0) values[slot]! |= staleBit;
    }
  }

  /** Removes every entry still stale, calling `removed` with its value. */
  sweepStale(removed: (value: number) => void): void {
    const values = this.#values;
    for (let slot = 0; slot < values.length; slot++) {
      // Closing a gap can bring another stale entry into this very slot, hence
      // the inner loop. What wraps around from the front has been seen already.
      while (values[slot]! < 0) {
        removed(values[slot]! & valueBits);
        this.#size--;
        this.#closeGap(slot);
      }
    }
  }

  clear(): void {
    this.#size = 0;
    this.#allocate(firstCapacity);
  }

  #home(w0: number, w1: number, w2: number, w3: number, length: number, pathId: number): number {
    let hash = Math.imul(w0 ^ (length * 0x01000193), 0x9e3779b1 | 0);
    if (this.#words === 4) {
      hash = Math.imul((hash ^ (hash >>> 15)) + w1, 0x85ebca77 | 0);
      hash = Math.imul((hash ^ (hash >>> 13)) + w2, 0xc2b2ae3d | 0);
      hash = Math.imul((hash ^ (hash >>> 16)) + w3, 0x27d4eb2f | 0);
    }
    if (pathId !== 0) hash = Math.imul((hash ^ (hash >>> 15)) + pathId, 0x165667b1 | 0);
    hash ^= hash >>> 15;
    hash = Math.imul(hash, 0x2c1b3c6d | 0);
    return (hash ^ (hash >>> 16)) & (this.#capacity - 1);
  }

  /** The slot of the entry, or the empty slot where it would go. */
  #find(w0: number, w1: number, w2: number, w3: number, length: number, pathId: number): number {
    const mask = this.#capacity - 1;
    const addresses = this.#addresses;
    const lengths = this.#lengths;
    const values = this.#values;
    const pathIds = this.#pathIds;
    const wide = this.#words === 4;
    let slot = this.#home(w0, w1, w2, w3, length, pathId);
    while (values[slot] !== 0) {
      const at = wide ? slot * 4 : slot;
      if (
        addresses[at] === w0 &&
        lengths[slot] === length &&
        (!wide ||
          (addresses[at + 1] === w1 && addresses[at + 2] === w2 && addresses[at + 3] === w3)) &&
        (pathIds === undefined || pathIds[slot] === pathId)
      ) {
        return slot;
      }
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #write(
    slot: number,
    w0: number,
    w1: number,
    w2: number,
    w3: number,
    length: number,
    pathId: number,
  ): void {
    const at = slot * this.#words;
    this.#addresses[at] = w0;
    if (this.#words === 4) {
      this.#addresses[at + 1] = w1;
      this.#addresses[at + 2] = w2;
      this.#addresses[at + 3] = w3;
    }
    this.#lengths[slot] = length;
    if (this.#pathIds !== undefined) this.#pathIds[slot] = pathId;
  }

  /** Empties a slot and pulls back what had been pushed past it (Knuth 6.4, algorithm R). */
  #closeGap(emptied: number): void {
    const mask = this.#capacity - 1;
    let gap = emptied;
    let slot = gap;
    for (;;) {
      this.#values[gap] = 0;
      for (;;) {
        slot = (slot + 1) & mask;
        if (this.#values[slot] === 0) return;
        const home = this.#homeOf(slot);
        // Stays where it is if its home lies cyclically behind the gap.
        const stays = gap <= slot ? gap < home && home <= slot : gap < home || home <= slot;
        if (!stays) break;
      }
      this.#move(slot, gap);
      gap = slot;
    }
  }

  #homeOf(slot: number): number {
    const at = slot * this.#words;
    const a = this.#addresses;
    const wide = this.#words === 4;
    return this.#home(
      a[at]!,
      wide ? a[at + 1]! : 0,
      wide ? a[at + 2]! : 0,
      wide ? a[at + 3]! : 0,
      this.#lengths[slot]!,
      this.#pathIds?.[slot] ?? 0,
    );
  }

  #move(from: number, to: number): void {
    const words = this.#words;
    this.#addresses.copyWithin(to * words, from * words, (from + 1) * words);
    this.#lengths[to] = this.#lengths[from]!;
    this.#values[to] = this.#values[from]!;
    if (this.#pathIds !== undefined) this.#pathIds[to] = this.#pathIds[from]!;
  }

  #visitSlot(slot: number, value: number, visitor: RouteVisitor): void {
    const at = slot * this.#words;
    const a = this.#addresses;
    const wide = this.#words === 4;
    visitor(
      a[at]!,
      wide ? a[at + 1]! : 0,
      wide ? a[at + 2]! : 0,
      wide ? a[at + 3]! : 0,
      this.#lengths[slot]!,
      this.#pathIds?.[slot] ?? 0,
      value & valueBits,
      value < 0,
    );
  }

  #grow(): void {
    const old = { addresses: this.#addresses, lengths: this.#lengths, values: this.#values };
    const oldPathIds = this.#pathIds;
    const words = this.#words;
    this.#allocate(this.#capacity * 2);
    if (oldPathIds !== undefined) this.#pathIds = new Uint32Array(this.#capacity);
    for (let slot = 0; slot < old.values.length; slot++) {
      const value = old.values[slot]!;
      if (value === 0) continue;
      const at = slot * words;
      const w0 = old.addresses[at]!;
      const w1 = words === 4 ? old.addresses[at + 1]! : 0;
      const w2 = words === 4 ? old.addresses[at + 2]! : 0;
      const w3 = words === 4 ? old.addresses[at + 3]! : 0;
      const length = old.lengths[slot]!;
      const pathId = oldPathIds?.[slot] ?? 0;
      const fresh = this.#find(w0, w1, w2, w3, length, pathId);
      this.#values[fresh] = value;
      this.#write(fresh, w0, w1, w2, w3, length, pathId);
    }
  }

  #allocate(capacity: number): void {
    this.#capacity = capacity;
    this.#addresses = new Int32Array(capacity * this.#words);
    this.#lengths = new Uint8Array(capacity);
    this.#values = new Int32Array(capacity);
    this.#pathIds = undefined;
  }
}
