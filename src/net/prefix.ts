import { Address, formatWords } from './address.ts';
import { type Family, familyBits } from './family.ts';
import { scanAddress, scanned } from './scan.ts';
import { agree, compareWords, maskWord, type Words } from './words.ts';

/** The words that only IPv6 has. */
interface LowWords {
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
}

/**
 * A CIDR block: an address whose bits beyond `length` are zero, and that
 * length. Immutable, and canonical by construction: two equal prefixes have
 * equal fields and print the same text.
 *
 * Most blocks are IPv4 and many live for a moment, so IPv4 is kept small: 48
 * bytes for the 72 of four words and a family.
 */
export class Prefix implements Words {
  readonly length: number;
  readonly w0: number;
  readonly low: LowWords | undefined;

  /** Bits beyond `length` must be zero already; `Prefix.of` clears them. */
  constructor(family: Family, length: number, w0: number, w1: number, w2: number, w3: number) {
    this.length = length;
    this.w0 = w0;
    this.low = family === 'ipv4' ? undefined : { w1, w2, w3 };
  }

  get family(): Family {
    return this.low === undefined ? 'ipv4' : 'ipv6';
  }

  get w1(): number {
    return this.low === undefined ? 0 : this.low.w1;
  }

  get w2(): number {
    return this.low === undefined ? 0 : this.low.w2;
  }

  get w3(): number {
    return this.low === undefined ? 0 : this.low.w3;
  }

  /** The block of `length` around an address (or around another block, if that is not larger). */
  static of(address: Words & { readonly family: Family }, length: number): Prefix {
    return new Prefix(
      address.family,
      length,
      address.w0 & maskWord(length, 0),
      address.w1 & maskWord(length, 1),
      address.w2 & maskWord(length, 2),
      address.w3 & maskWord(length, 3),
    );
  }

  contains(o: Prefix | Address): boolean {
    if (o.family !== this.family) return false;
    if (o instanceof Prefix && o.length < this.length) return false;
    return agree(this, o, this.length);
  }

  /** Blocks are nested or disjoint, never half in: overlap is agreement on the shorter length. */
  overlaps(o: Prefix): boolean {
    return o.family === this.family && agree(this, o, Math.min(this.length, o.length));
  }

  equals(o: Prefix): boolean {
    return (
      this.length === o.length &&
      this.w0 === o.w0 &&
      this.w1 === o.w1 &&
      this.w2 === o.w2 &&
      this.w3 === o.w3 &&
      this.family === o.family
    );
  }

  /** IPv4 before IPv6, then by first address, then the larger block first. */
  compare(o: Prefix): number {
    if (this.family !== o.family) return this.family === 'ipv4' ? -1 : 1;
    return compareWords(this, o) || this.length - o.length;
  }

  first(): Address {
    return new Address(this.family, this.w0, this.w1, this.w2, this.w3);
  }

  last(): Address {
    const { family, length, w0, w1, w2, w3 } = this;
    const l0 = w0 | ~maskWord(length, 0);
    if (family === 'ipv4') return new Address(family, l0, 0, 0, 0);
    return new Address(
      family,
      l0,
      w1 | ~maskWord(length, 1),
      w2 | ~maskWord(length, 2),
      w3 | ~maskWord(length, 3),
    );
  }

  /** The block number `index` of those of `length` that this one divides into. */
  subPrefix(length: number, index: number | bigint): Prefix {
    const bits = length - this.length;
    if (typeof index === 'number' && this.family === 'ipv4' && bits >= 0 && length <= 32) {
      // The common case, in words. A shift counts modulo 32, hence the two ends of it.
      const count = bits === 32 ? 0x100000000 : (1 << bits) >>> 0;
      if (index >= 0 && index < count && Number.isInteger(index)) {
        const shifted = length === 0 ? 0 : index << (32 - length);
        return new Prefix('ipv4', length, this.w0 | shifted, 0, 0, 0);
      }
    }
    const last = familyBits(this.family);
    if (bits >= 0 && length <= last && index >= 0 && Number.isInteger(Number(index))) {
      const offset = BigInt(index);
      if (offset >> BigInt(bits) === 0n) {
        return Prefix.of(this.first().plus(offset << BigInt(last - length)), length);
      }
    }
    throw new RangeError(`${this} has no /${length} number ${index}`);
  }

  /** Which of this block's sub-blocks of that size `sub` is; -1n if it lies elsewhere. */
  indexOf(sub: Prefix): bigint {
    if (!this.contains(sub)) return -1n;
    const shift = BigInt(familyBits(this.family) - sub.length);
    return (sub.first().toBigInt() - this.first().toBigInt()) >> shift;
  }

  /** How many blocks of `length` this one divides into, at most Number.MAX_SAFE_INTEGER. */
  countOf(length: number): number {
    if (length < this.length || length > familyBits(this.family)) return 0;
    return Math.min(2 ** (length - this.length), Number.MAX_SAFE_INTEGER);
  }

  /** The block of `length`, not longer than this one's, that this one lies in. */
  parent(length: number): Prefix {
    if (length < 0 || length > this.length) {
      throw new RangeError(`${this} lies in no block of length ${length}`);
    }
    return Prefix.of(this, length);
  }

  /** The block of the same size right behind, or undefined at the end of the family. */
  next(): Prefix | undefined {
    const last = this.last();
    const bits = familyBits(this.family);
    if (last.toBigInt() === (1n << BigInt(bits)) - 1n) return undefined;
    return Prefix.of(last.plus(1), this.length);
  }

  toString(): string {
    return `${formatWords(this.family, this.w0, this.w1, this.w2, this.w3)}/${this.length}`;
  }
}

/** The decimal after the slash; -1 if it is not one (empty, a sign, a leading zero, junk). */
function scanLength(text: string, start: number): number {
  const digits = text.length - start;
  if (digits < 1 || (digits > 1 && text.charCodeAt(start) === 0x30)) return -1;
  let length = 0;
  for (let i = start; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x30 || c > 0x39) return -1;
    length = Math.min(length * 10 + (c - 0x30), 999);
  }
  return length;
}

/**
 * The block that `text` spells, or undefined. Host bits are cleared, because a
 * real API server stores `10.10.5.3/24` as it came: read leniently, compare
 * canonically. What a person typed is judged by `prefixProblem` instead.
 */
export function parsePrefix(text: string): Prefix | undefined {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return undefined;
  const length = scanLength(text, slash + 1);
  if (length < 0 || length > 128) return undefined;
  const version = scanAddress(text, 0, slash);
  if (version === 0 || (version === 4 && length > 32)) return undefined;
  return new Prefix(
    version === 4 ? 'ipv4' : 'ipv6',
    length,
    scanned.w0 & maskWord(length, 0),
    scanned.w1 & maskWord(length, 1),
    scanned.w2 & maskWord(length, 2),
    scanned.w3 & maskWord(length, 3),
  );
}

/** What is wrong with `text` as a CIDR that somebody wrote, in one sentence; undefined if nothing. */
export function prefixProblem(text: string): string | undefined {
  const slash = text.lastIndexOf('/');
  const version = scanAddress(text, 0, slash < 0 ? text.length : slash);
  if (version === 0) return `"${text}" is not an IPv4 or IPv6 CIDR`;
  if (slash < 0 || slash === text.length - 1) return `"${text}" has no prefix length`;
  const { w0, w1, w2, w3 } = scanned;
  const length = scanLength(text, slash + 1);
  if (length < 0) return `"${text}" has a prefix length that is not a plain decimal number`;
  const bits = version === 4 ? 32 : 128;
  if (length > bits) return `"${text}" has a prefix length beyond ${bits}`;
  const address = new Address(version === 4 ? 'ipv4' : 'ipv6', w0, w1, w2, w3);
  const block = Prefix.of(address, length);
  if (block.first().equals(address)) return undefined;
  return `"${text}" has host bits set; the block is ${block}`;
}

/** All addresses of the block. */
export function addressCount(prefix: Prefix): bigint {
  return 1n << BigInt(familyBits(prefix.family) - prefix.length);
}

/**
 * The addresses that can be given to pods. The first (network) and the last
 * (broadcast) of a block are left out unless allowed; a block of two or of one
 * has no such roles (RFC 3021, RFC 6164) and is usable whole.
 */
export function usableAddresses(
  prefix: Prefix,
  { allowFirst, allowLast }: { allowFirst: boolean; allowLast: boolean },
): bigint {
  const all = addressCount(prefix);
  if (all <= 2n) return all;
  return all - (allowFirst ? 0n : 1n) - (allowLast ? 0n : 1n);
}
