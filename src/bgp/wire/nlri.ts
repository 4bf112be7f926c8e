import { formatWords } from '../../net/address.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { maskWord } from '../../net/words.ts';
import { type AddressWords, writeWord } from './address-text.ts';
import { afiIpv4, afiIpv6, type UnicastAfi } from './afi-safi.ts';

/**
 * One prefix as BGP carries it: family, length, address words, and the path
 * identifier of RFC 7911 (0 where add-path is off). Host bits are always zero:
 * RFC 4271 §4.3 calls trailing bits irrelevant, so they are masked here
 * and two ways to write one prefix are one prefix.
 */
export class Nlri implements AddressWords {
  readonly afi: UnicastAfi;
  readonly length: number;
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
  readonly pathId: number;

  constructor(afi: UnicastAfi, length: number, w0: number, w1 = 0, w2 = 0, w3 = 0, pathId = 0) {
    this.afi = afi;
    this.length = length;
    this.w0 = w0 & maskWord(length, 0);
    this.w1 = w1 & maskWord(length, 1);
    this.w2 = w2 & maskWord(length, 2);
    this.w3 = w3 & maskWord(length, 3);
    this.pathId = pathId;
  }

  /** From `10.5.112.0/24` or `fd00::/64`; undefined if the text is no prefix. */
  static parse(text: string, pathId = 0): Nlri | undefined {
    const prefix = parsePrefix(text);
    return prefix && Nlri.of(prefix, pathId);
  }

  static of({ family, length, w0, w1, w2, w3 }: Prefix, pathId = 0): Nlri {
    return new Nlri(family === 'ipv4' ? afiIpv4 : afiIpv6, length, w0, w1, w2, w3, pathId);
  }

  /** The prefix as text, without the path identifier. */
  toString(): string {
    const family = this.afi === afiIpv4 ? 'ipv4' : 'ipv6';
    return `${formatWords(family, this.w0, this.w1, this.w2, this.w3)}/${this.length}`;
  }

  /** Octets this NLRI takes on the wire. */
  wireLength(addPath: boolean): number {
    return (addPath ? 5 : 1) + ((this.length + 7) >> 3);
  }

  /** Writes the NLRI at `start`; it takes `wireLength` octets. */
  write(bytes: Uint8Array, start: number, addPath: boolean): void {
    let at = start;
    if (addPath) {
      writeWord(bytes, at, this.pathId);
      at += 4;
    }
    const { length } = this;
    bytes[at++] = length;
    // One branch an octet of the first word: the loop over a table of /24 is here.
    const word = this.w0;
    if (length > 0) bytes[at++] = word >>> 24;
    if (length > 8) bytes[at++] = (word >>> 16) & 0xff;
    if (length > 16) bytes[at++] = (word >>> 8) & 0xff;
    if (length > 24) bytes[at++] = word & 0xff;
    for (let octet = 4; octet < (length + 7) >> 3; octet++) {
      const later = octet < 8 ? this.w1 : octet < 12 ? this.w2 : this.w3;
      bytes[at++] = (later >>> (24 - ((octet & 3) << 3))) & 0xff;
    }
  }
}
