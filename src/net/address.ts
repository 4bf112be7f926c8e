import { type Family, familyBits } from './family.ts';
import { scanAddress, scanned } from './scan.ts';
import { compareWords } from './words.ts';

/** One IPv4 or IPv6 address. Immutable; the text form is RFC 5952's, so equal addresses print alike. */
export class Address {
  readonly family: Family;
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;

  /** Words are int32, most significant first; IPv4 has its one word in `w0` and zeros behind. */
  constructor(family: Family, w0: number, w1: number, w2: number, w3: number) {
    this.family = family;
    this.w0 = w0;
    this.w1 = w1;
    this.w2 = w2;
    this.w3 = w3;
  }

  static fromBigInt(family: Family, value: bigint): Address {
    if (value < 0n || value >> BigInt(familyBits(family)) !== 0n) {
      throw new RangeError(`${value} is not the number of an ${family} address`);
    }
    const word = (shift: bigint) => Number(BigInt.asIntN(32, value >> shift));
    if (family === 'ipv4') return new Address(family, word(0n), 0, 0, 0);
    return new Address(family, word(96n), word(64n), word(32n), word(0n));
  }

  toBigInt(): bigint {
    if (this.family === 'ipv4') return BigInt(this.w0 >>> 0);
    return (
      (BigInt(this.w0 >>> 0) << 96n) |
      (BigInt(this.w1 >>> 0) << 64n) |
      (BigInt(this.w2 >>> 0) << 32n) |
      BigInt(this.w3 >>> 0)
    );
  }

  /** The address `n` further on (or back). Past either end of the family there is none: RangeError. */
  plus(n: number | bigint): Address {
    if (typeof n === 'number') {
      const isV4 = this.family === 'ipv4';
      const low = ((isV4 ? this.w0 : this.w3) >>> 0) + n;
      if (low >= 0 && low <= 0xffffffff) {
        return isV4
          ? new Address('ipv4', low | 0, 0, 0, 0)
          : new Address('ipv6', this.w0, this.w1, this.w2, low | 0);
      }
    }
    return Address.fromBigInt(this.family, this.toBigInt() + BigInt(n));
  }

  equals(o: Address): boolean {
    return this.family === o.family && compareWords(this, o) === 0;
  }

  /** IPv4 before IPv6, then by number. */
  compare(o: Address): number {
    if (this.family !== o.family) return this.family === 'ipv4' ? -1 : 1;
    return compareWords(this, o);
  }

  toString(): string {
    return formatWords(this.family, this.w0, this.w1, this.w2, this.w3);
  }
}

/** The address that `text` spells, or undefined. No zone, no brackets, no surrounding space. */
export function parseAddress(text: string): Address | undefined {
  switch (scanAddress(text, 0, text.length)) {
    case 4:
      return new Address('ipv4', scanned.w0, 0, 0, 0);
    case 6:
      return new Address('ipv6', scanned.w0, scanned.w1, scanned.w2, scanned.w3);
    default:
      return undefined;
  }
}

function dotted(w: number): string {
  return `${w >>> 24}.${(w >>> 16) & 255}.${(w >>> 8) & 255}.${w & 255}`;
}

export function formatWords(family: Family, w0: number, w1: number, w2: number, w3: number) {
  if (family === 'ipv4') return dotted(w0);
  // RFC 5952 §5: the tail of an IPv4-mapped address (::ffff:0:0/96) stays dotted.
  if (w0 === 0 && w1 === 0 && w2 === 0xffff) return `::ffff:${dotted(w3)}`;
  const groups = [
    w0 >>> 16,
    w0 & 0xffff,
    w1 >>> 16,
    w1 & 0xffff,
    w2 >>> 16,
    w2 & 0xffff,
    w3 >>> 16,
    w3 & 0xffff,
  ];
  // RFC 5952 §4.2: `::` for the longest run of two or more zero groups, the first of equals.
  let gapAt = -1;
  let gapLength = 1;
  for (let i = 0, run = 0; i < 8; i++) {
    run = groups[i] === 0 ? run + 1 : 0;
    if (run > gapLength) {
      gapLength = run;
      gapAt = i - run + 1;
    }
  }
  let text = '';
  for (let i = 0; i < 8; i++) {
    if (i === gapAt) {
      text += '::';
      i += gapLength - 1;
      continue;
    }
    if (i > 0 && i !== gapAt + gapLength) text += ':';
    text += groups[i]!.toString(16);
  }
  return text;
}
