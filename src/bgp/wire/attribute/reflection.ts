import { formatIpv4Word, parseAddressText, readWord } from '../address-text.ts';
import { updateError } from '../error.ts';
import {
  type AttributeCodec,
  discard,
  optionalNonTransitive,
  u32Bytes,
  withdraw,
} from './attribute-codec.ts';

/** ORIGINATOR_ID (RFC 4456 §8): set by a route reflector, inside one AS only. */
export const originatorIdCodec: AttributeCodec = {
  type: 9,
  name: 'ORIGINATOR_ID',
  flags: optionalNonTransitive,
  decode(value, session, into) {
    // RFC 7606 §7.9
    if (!session.ibgp) return discard(0, 'from an external peer');
    if (value.length !== 4) return withdraw(updateError.attributeLength, `length ${value.length}`);
    into.originatorId = formatIpv4Word(readWord(value, 0));
    return undefined;
  },
  encode: ({ originatorId }, session) =>
    originatorId === undefined || !session.ibgp ? undefined : idBytes([originatorId]),
};

/** CLUSTER_LIST (RFC 4456 §8). */
export const clusterListCodec: AttributeCodec = {
  type: 10,
  name: 'CLUSTER_LIST',
  flags: optionalNonTransitive,
  decode(value, session, into) {
    // RFC 7606 §7.10
    if (!session.ibgp) return discard(0, 'from an external peer');
    if (value.length === 0 || value.length % 4 !== 0) {
      return withdraw(updateError.attributeLength, `length ${value.length}`);
    }
    const list: string[] = [];
    for (let at = 0; at < value.length; at += 4) list.push(formatIpv4Word(readWord(value, at)));
    into.clusterList = list;
    return undefined;
  },
  encode: ({ clusterList }, session) =>
    !clusterList?.length || !session.ibgp ? undefined : idBytes(clusterList),
};

function idBytes(ids: readonly string[]): Uint8Array {
  return u32Bytes(...ids.map((id) => (parseAddressText(id)?.w0 ?? 0) >>> 0));
}
