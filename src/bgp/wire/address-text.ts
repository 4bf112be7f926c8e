import { afiIpv4, afiIpv6, type UnicastAfi } from './afi-safi.ts';

/**
 * Addresses between octets, 32-bit words and text. Words are signed 32-bit
 * integers: those are unboxed small integers in V8, where unsigned ones above
 * 2^31 would each cost an object. An IPv4 address uses the first word only.
 */
export interface AddressWords {
  readonly afi: UnicastAfi;
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
}

export function readWord(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}

export function writeWord(bytes: Uint8Array, at: number, word: number): void {
  bytes[at] = word >>> 24;
  bytes[at + 1] = (word >>> 16) & 0xff;
  bytes[at + 2] = (word >>> 8) & 0xff;
  bytes[at + 3] = word & 0xff;
}

export function formatIpv4Word(word: number): string {
  return `${word >>> 24}.${(word >>> 16) & 0xff}.${(word >>> 8) & 0xff}.${word & 0xff}`;
}

/** RFC 5952: lower case, the longest run of at least two zero groups as `::`, the first of equals. */
export function formatIpv6Words(w0: number, w1: number, w2: number, w3: number): string {
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
  let bestStart = -1;
  let bestLength = 1;
  for (let at = 0; at < 8; at++) {
    let end = at;
    while (end < 8 && groups[end] === 0) end++;
    if (end - at > bestLength) {
      bestStart = at;
      bestLength = end - at;
    }
    if (end > at) at = end;
  }
  const text = (from: number, to: number) =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':');
  if (bestStart < 0) return text(0, 8);
  return `${text(0, bestStart)}::${text(bestStart + bestLength, 8)}`;
}

/** The text of the 4 or 16 octets at `at`. */
export function formatAddress(bytes: Uint8Array, at: number, afi: UnicastAfi): string {
  if (afi === afiIpv4) return formatIpv4Word(readWord(bytes, at));
  return formatIpv6Words(
    readWord(bytes, at),
    readWord(bytes, at + 4),
    readWord(bytes, at + 8),
    readWord(bytes, at + 12),
  );
}

/** Strict: no leading zeros, no zone, no shorthand; undefined for anything else. */
export function parseAddressText(text: string): AddressWords | undefined {
  if (text.includes(':')) return parseIpv6(text);
  const word = parseIpv4(text);
  return word === undefined ? undefined : { afi: afiIpv4, w0: word, w1: 0, w2: 0, w3: 0 };
}

function parseIpv4(text: string): number | undefined {
  let word = 0;
  let octet = -1;
  let octets = 0;
  for (let at = 0; at <= text.length; at++) {
    const char = at < text.length ? text.charCodeAt(at) : 0x2e;
    if (char === 0x2e) {
      if (octet < 0 || ++octets > 4) return undefined;
      word = (word << 8) | octet;
      octet = -1;
    } else if (char >= 0x30 && char <= 0x39) {
      if (octet === 0) return undefined;
      octet = Math.max(octet, 0) * 10 + char - 0x30;
      if (octet > 255) return undefined;
    } else return undefined;
  }
  return octets === 4 ? word : undefined;
}

function parseIpv6(text: string): AddressWords | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  const word = (at: number) => (groups[at]! << 16) | groups[at + 1]!;
  return { afi: afiIpv6, w0: word(0), w1: word(2), w2: word(4), w3: word(6) };
}

/** The groups of one side of `::`; only the last side may end in a dotted quad. */
function parseGroups(text: string, quadAllowed: boolean): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (quadAllowed && index === parts.length - 1 && part.includes('.')) {
      const word = parseIpv4(part);
      if (word === undefined) return undefined;
      groups.push(word >>> 16, word & 0xffff);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups;
}

/** The octets of an address text; undefined if it is none. */
export function addressBytes(text: string): Uint8Array | undefined {
  const words = parseAddressText(text);
  if (words === undefined) return undefined;
  const bytes = new Uint8Array(words.afi === afiIpv4 ? 4 : 16);
  writeWord(bytes, 0, words.w0);
  if (words.afi === afiIpv6) {
    writeWord(bytes, 4, words.w1);
    writeWord(bytes, 8, words.w2);
    writeWord(bytes, 12, words.w3);
  }
  return bytes;
}
