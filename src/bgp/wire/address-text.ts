import { formatWords, parseAddress } from '../../net/address.ts';
import { afiIpv4, afiIpv6, type UnicastAfi } from './afi-safi.ts';

/** An address as the wire has it: its family as a number, and its words as in `net`. */
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
  return formatWords('ipv4', word, 0, 0, 0);
}

/** The text of the 4 or 16 octets at `at`. */
export function formatWireAddress(bytes: Uint8Array, at: number, afi: UnicastAfi): string {
  if (afi === afiIpv4) return formatIpv4Word(readWord(bytes, at));
  return formatWords(
    'ipv6',
    readWord(bytes, at),
    readWord(bytes, at + 4),
    readWord(bytes, at + 8),
    readWord(bytes, at + 12),
  );
}

export function parseAddressText(text: string): AddressWords | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const { w0, w1, w2, w3 } = address;
  return { afi: address.family === 'ipv4' ? afiIpv4 : afiIpv6, w0, w1, w2, w3 };
}

/** The octets of an address text; undefined if it is none. */
export function addressOctets(text: string): Uint8Array | undefined {
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
