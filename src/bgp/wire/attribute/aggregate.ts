import { formatIpv4Word, parseAddressText, readWord } from '../address-text.ts';
import { updateError } from '../error.ts';
import { readU16, readU32 } from '../octets.ts';
import { asTrans } from '../open.ts';
import type { SessionContext } from '../session-context.ts';
import {
  type AttributeCodec,
  discard,
  optionalTransitive,
  u32Bytes,
  wellKnown,
} from './attribute-codec.ts';
import type { Aggregator, MutableAttributes } from './path-attributes.ts';

/** ATOMIC_AGGREGATE (RFC 4271 §5.1.6). */
export const atomicAggregateCodec: AttributeCodec = {
  type: 6,
  name: 'ATOMIC_AGGREGATE',
  flags: wellKnown,
  decode(value, _session, into) {
    // RFC 7606 §7.6
    if (value.length !== 0) return discard(updateError.attributeLength, `length ${value.length}`);
    into.atomicAggregate = true;
    return undefined;
  },
  encode: ({ atomicAggregate }) => (atomicAggregate ? new Uint8Array(0) : undefined),
};

/** AGGREGATOR (RFC 4271 §5.1.7), its AS in two or four octets as the session has it. */
export const aggregatorCodec: AttributeCodec = {
  type: 7,
  name: 'AGGREGATOR',
  flags: optionalTransitive,
  decode(value, session, into) {
    const length = session.as4 ? 8 : 6;
    // RFC 7606 §7.7
    if (value.length !== length) {
      return discard(updateError.attributeLength, `length ${value.length}`);
    }
    const asn = session.as4 ? readU32(value, 0) : readU16(value, 0);
    // RFC 7607 §2
    if (asn === 0) return discard(updateError.optionalAttribute, 'AS 0');
    into.aggregator = { asn, address: formatIpv4Word(readWord(value, length - 4)) };
    return undefined;
  },
  encode({ aggregator }, session) {
    if (aggregator === undefined) return undefined;
    const whole = aggregatorBytes(aggregator);
    if (session.as4) return whole;
    const asn = aggregator.asn > 0xffff ? asTrans : aggregator.asn;
    return new Uint8Array([asn >>> 8, asn & 0xff, ...whole.subarray(4)]);
  },
};

/** AS4_AGGREGATOR (RFC 6793 §4.1). */
export const as4AggregatorCodec: AttributeCodec = {
  type: 18,
  name: 'AS4_AGGREGATOR',
  flags: optionalTransitive,
  decode(value, session, into) {
    // RFC 6793 §6
    if (session.as4) return discard(0, 'sent by a peer that has 4-octet AS numbers');
    if (value.length !== 8) return discard(updateError.attributeLength, `length ${value.length}`);
    const asn = readU32(value, 0);
    if (asn === 0) return discard(updateError.optionalAttribute, 'AS 0');
    into.as4Aggregator = { asn, address: formatIpv4Word(readWord(value, 4)) };
    return undefined;
  },
  encode: ({ aggregator }, session) =>
    session.as4 || aggregator === undefined || aggregator.asn <= 0xffff
      ? undefined
      : aggregatorBytes(aggregator),
};

function aggregatorBytes({ asn, address }: Aggregator): Uint8Array {
  return u32Bytes(asn, (parseAddressText(address)?.w0 ?? 0) >>> 0);
}

/**
 * RFC 6793 §4.2.3: where both aggregators are there and AGGREGATOR is not
 * AS_TRANS, somebody who did not know the AS4 attributes aggregated anew after
 * they were written, and neither is true any more.
 */
export function as4IsCurrent(into: MutableAttributes, session: SessionContext): boolean {
  if (session.as4) return false;
  if (into.aggregator === undefined || into.as4Aggregator === undefined) return true;
  return into.aggregator.asn === asTrans;
}
