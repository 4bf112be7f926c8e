import { updateError } from '../error.ts';
import { bytesToHex, hexToBytes } from '../hex.ts';
import { readU32 } from '../octets.ts';
import { type AttributeCodec, optionalTransitive, u32Bytes, withdraw } from './attribute-codec.ts';
import type { LargeCommunity } from './path-attributes.ts';

/** COMMUNITIES (RFC 1997). */
export const communitiesCodec: AttributeCodec = {
  type: 8,
  name: 'COMMUNITIES',
  flags: optionalTransitive,
  decode(value, _session, into) {
    const list = records(value, 4, (at) => readU32(value, at));
    if (list === undefined) return badLength(value); // RFC 7606 §7.8
    into.communities = list;
    return undefined;
  },
  encode: ({ communities }) => (communities?.length ? u32Bytes(...communities) : undefined),
};

/** EXTENDED COMMUNITIES (RFC 4360); their meaning is not ours to read. */
export const extendedCommunitiesCodec: AttributeCodec = {
  type: 16,
  name: 'EXTENDED_COMMUNITIES',
  flags: optionalTransitive,
  decode(value, _session, into) {
    const list = records(value, 8, (at) => bytesToHex(value.subarray(at, at + 8)));
    if (list === undefined) return badLength(value); // RFC 7606 §7.14
    into.extendedCommunities = list;
    return undefined;
  },
  encode: ({ extendedCommunities }) =>
    extendedCommunities?.length ? hexToBytes(extendedCommunities.join('')) : undefined,
};

/** LARGE_COMMUNITY (RFC 8092). */
export const largeCommunitiesCodec: AttributeCodec = {
  type: 32,
  name: 'LARGE_COMMUNITY',
  flags: optionalTransitive,
  decode(value, _session, into) {
    const list = records(value, 12, (at) => ({
      global: readU32(value, at),
      local1: readU32(value, at + 4),
      local2: readU32(value, at + 8),
    }));
    if (list === undefined) return badLength(value); // RFC 8092 §6
    into.largeCommunities = list;
    return undefined;
  },
  encode: ({ largeCommunities }) =>
    largeCommunities?.length
      ? u32Bytes(...largeCommunities.flatMap((c) => [c.global, c.local1, c.local2]))
      : undefined,
};

/** The records of a value; undefined unless there is at least one and all are whole. */
function records<T>(value: Uint8Array, size: number, read: (at: number) => T): T[] | undefined {
  if (value.length === 0 || value.length % size !== 0) return undefined;
  const list: T[] = [];
  for (let at = 0; at < value.length; at += size) list.push(read(at));
  return list;
}

function badLength(value: Uint8Array) {
  return withdraw(updateError.optionalAttribute, `length ${value.length}`);
}

export function formatCommunity(community: number): string {
  return `${community >>> 16}:${community & 0xffff}`;
}

export function formatLargeCommunity({ global, local1, local2 }: LargeCommunity): string {
  return `${global}:${local1}:${local2}`;
}
