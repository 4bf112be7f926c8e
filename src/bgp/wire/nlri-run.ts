import { maskWord } from '../../net/words.ts';
import { readWord } from './address-text.ts';
import { afiIpv4, type UnicastAfi } from './afi-safi.ts';
import { errorCode, updateError, WireError } from './error.ts';
import { Nlri } from './nlri.ts';

/** Called once per prefix; words are masked, see `Nlri`. */
type NlriVisitor = (
  w0: number,
  w1: number,
  w2: number,
  w3: number,
  length: number,
  pathId: number,
) => void;

const noBytes = new Uint8Array(0);

/**
 * A checked run of NLRI, still in its octets. A full table is a million
 * prefixes; turning each into an object to put it into a table that keeps no
 * objects would cost more than all the rest of the receiving side. It views
 * the buffer the message came in: use it before the next read, or copy.
 */
export class NlriRun {
  readonly afi: UnicastAfi;
  readonly addPath: boolean;
  readonly count: number;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;

  private constructor(
    afi: UnicastAfi,
    addPath: boolean,
    count: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ) {
    this.afi = afi;
    this.addPath = addPath;
    this.count = count;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  static empty(afi: UnicastAfi): NlriRun {
    return new NlriRun(afi, false, 0, noBytes, 0, 0);
  }

  /**
   * Checks the syntax of a whole field. RFC 7606 §5.3: a length above the
   * family's, or a prefix that runs past the end, makes the field unreadable,
   * and then nobody knows which routes to withdraw: session reset.
   */
  static check(
    bytes: Uint8Array,
    start: number,
    end: number,
    afi: UnicastAfi,
    addPath: boolean,
    field: string,
  ): NlriRun | WireError {
    const bits = afi === afiIpv4 ? 32 : 128;
    let count = 0;
    let at = start;
    while (at < end) {
      if (addPath) at += 4;
      if (at >= end) return unreadable(`${field}: a path identifier without a prefix`);
      const length = bytes[at]!;
      if (length > bits) return unreadable(`${field}: prefix length ${length} above ${bits}`);
      at += 1 + ((length + 7) >> 3);
      count++;
    }
    if (at > end) return unreadable(`${field}: the last prefix runs past the end of the field`);
    return new NlriRun(afi, addPath, count, bytes, start, end);
  }

  visit(visitor: NlriVisitor): void {
    const { bytes, end, addPath, afi } = this;
    let at = this.start;
    while (at < end) {
      let pathId = 0;
      if (addPath) {
        pathId = readWord(bytes, at) >>> 0;
        at += 4;
      }
      const length = bytes[at++]!;
      const octets = (length + 7) >> 3;
      if (afi === afiIpv4) {
        visitor(readPartialWord(bytes, at, octets) & maskWord(length, 0), 0, 0, 0, length, pathId);
      } else {
        visitor(
          readPartialWord(bytes, at, octets) & maskWord(length, 0),
          readPartialWord(bytes, at + 4, octets - 4) & maskWord(length, 1),
          readPartialWord(bytes, at + 8, octets - 8) & maskWord(length, 2),
          readPartialWord(bytes, at + 12, octets - 12) & maskWord(length, 3),
          length,
          pathId,
        );
      }
      at += octets;
    }
  }

  toArray(): Nlri[] {
    const list: Nlri[] = [];
    this.visit((w0, w1, w2, w3, length, pathId) => {
      list.push(new Nlri(this.afi, length, w0, w1, w2, w3, pathId));
    });
    return list;
  }
}

/** The first `octets` (at most four) octets of a word, the rest zero. */
function readPartialWord(bytes: Uint8Array, at: number, octets: number): number {
  if (octets >= 4) return readWord(bytes, at);
  if (octets === 3) return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8);
  if (octets === 2) return (bytes[at]! << 24) | (bytes[at + 1]! << 16);
  return octets === 1 ? bytes[at]! << 24 : 0;
}

function unreadable(detail: string): WireError {
  return new WireError('session-reset', {
    code: errorCode.update,
    subcode: updateError.invalidNetworkField,
    detail,
  });
}
