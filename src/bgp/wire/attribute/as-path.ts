import { updateError } from '../error.ts';
import { readU16, readU32 } from '../octets.ts';
import { asTrans } from '../open.ts';
import {
  type AttributeCodec,
  discard,
  optionalTransitive,
  wellKnown,
  withdraw,
} from './attribute-codec.ts';
import type { AsPath, AsSegment } from './path-attributes.ts';

/** Segment types (RFC 4271 §4.3, RFC 5065 §3); index is the number on the wire. */
const segmentTypes = [undefined, 'set', 'seq', 'confed-seq', 'confed-set'] as const;

/** AS_PATH (RFC 4271 §5.1.2), in two or four octets an AS as the session has it. */
export const asPathCodec: AttributeCodec = {
  type: 2,
  name: 'AS_PATH',
  flags: wellKnown,
  decode(value, session, into) {
    const path = decodeAsPath(value, session.as4 ? 4 : 2);
    // RFC 7606 §7.2
    if (typeof path === 'string') return withdraw(updateError.malformedAsPath, path);
    // RFC 7607 §2
    if (hasAsZero(path)) return withdraw(updateError.malformedAsPath, 'AS 0 in the path');
    // RFC 5065 §5.3: confederations end at the border of the confederation.
    if (!session.ibgp && path.some(isConfederation)) {
      return withdraw(updateError.malformedAsPath, 'confederation segment from an external peer');
    }
    into.asPath = path;
    return undefined;
  },
  encode: ({ asPath }, session) =>
    asPath === undefined ? undefined : encodeAsPath(asPath, session.as4 ? 4 : 2),
};

/** AS4_PATH (RFC 6793 §4.1): the path in full, past speakers that know two octets only. */
export const as4PathCodec: AttributeCodec = {
  type: 17,
  name: 'AS4_PATH',
  flags: optionalTransitive,
  decode(value, session, into) {
    // RFC 6793 §6: nothing wrong with AS4_PATH may cost more than AS4_PATH.
    if (session.as4) return discard(0, 'sent by a peer that has 4-octet AS numbers');
    const path = value.length === 0 ? 'empty' : decodeAsPath(value, 4);
    if (typeof path === 'string') return discard(updateError.optionalAttribute, path);
    if (hasAsZero(path)) return discard(updateError.optionalAttribute, 'AS 0 in the path');
    into.as4Path = path.filter((segment) => !isConfederation(segment));
    return undefined;
  },
  encode({ asPath }, session) {
    if (session.as4 || asPath === undefined) return undefined;
    const inner = asPath.filter((segment) => !isConfederation(segment));
    if (!inner.some((segment) => segment.asns.some((asn) => asn > 0xffff))) return undefined;
    return encodeAsPath(inner, 4);
  },
};

/** The segments of an AS_PATH value, or what is wrong with it (RFC 7606 §7.2). */
export function decodeAsPath(value: Uint8Array, asnOctets: 2 | 4): AsPath | string {
  const path: AsSegment[] = [];
  let at = 0;
  while (at < value.length) {
    if (at + 2 > value.length) return 'a segment header is cut off';
    const type = segmentTypes[value[at]!];
    const count = value[at + 1]!;
    if (type === undefined) return `segment type ${value[at]}`;
    if (count === 0) return 'an empty segment';
    at += 2;
    if (at + count * asnOctets > value.length) return 'a segment runs past the end';
    const asns: number[] = [];
    for (let n = 0; n < count; n++, at += asnOctets) {
      asns.push(asnOctets === 4 ? readU32(value, at) : readU16(value, at));
    }
    path.push({ type, asns });
  }
  return path;
}

function encodeAsPath(path: AsPath, asnOctets: 2 | 4): Uint8Array {
  const octets: number[] = [];
  for (const { type, asns } of path) {
    // A segment counts its members in one octet; a longer one goes out in pieces.
    for (let from = 0; from < asns.length; from += 255) {
      const piece = asns.slice(from, from + 255);
      octets.push(segmentTypes.indexOf(type), piece.length);
      for (const asn of piece) {
        if (asnOctets === 4) octets.push(asn >>> 24, (asn >>> 16) & 0xff);
        const low = asnOctets === 2 && asn > 0xffff ? asTrans : asn;
        octets.push((low >>> 8) & 0xff, low & 0xff);
      }
    }
  }
  return new Uint8Array(octets);
}

function isConfederation(segment: AsSegment): boolean {
  return segment.type === 'confed-seq' || segment.type === 'confed-set';
}

function hasAsZero(path: AsPath): boolean {
  return path.some((segment) => segment.asns.includes(0));
}

/** Path length for comparison: a set counts one, confederation segments none (RFC 5065 §5.3). */
function asPathLength(path: AsPath): number {
  let length = 0;
  for (const segment of path) {
    if (segment.type === 'seq') length += segment.asns.length;
    else if (segment.type === 'set') length += 1;
  }
  return length;
}

/**
 * RFC 6793 §4.2.3: the part of AS_PATH that 2-octet speakers put in front, then
 * AS4_PATH. A longer AS4_PATH cannot belong to this AS_PATH and is ignored.
 */
export function mergeAs4Path(asPath: AsPath, as4Path: AsPath): AsPath {
  let lead = asPathLength(asPath) - asPathLength(as4Path);
  if (lead < 0) return asPath;
  const merged: AsSegment[] = [];
  for (const segment of asPath) {
    if (isConfederation(segment)) {
      merged.push(segment);
      continue;
    }
    if (lead === 0) break;
    const taken = segment.type === 'set' ? segment.asns : segment.asns.slice(0, lead);
    merged.push({ type: segment.type, asns: taken });
    lead -= segment.type === 'set' ? 1 : taken.length;
  }
  const last = merged.at(-1);
  const first = as4Path[0];
  // Two sequences that meet are one; a reader should not see where the seam was.
  if (last?.type === 'seq' && first?.type === 'seq' && last.asns.length + first.asns.length < 256) {
    merged[merged.length - 1] = { type: 'seq', asns: [...last.asns, ...first.asns] };
    return [...merged, ...as4Path.slice(1)];
  }
  return [...merged, ...as4Path];
}
