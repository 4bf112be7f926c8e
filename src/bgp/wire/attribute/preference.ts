import { updateError } from '../error.ts';
import { readU32 } from '../octets.ts';
import type { SessionContext } from '../session-context.ts';
import {
  type AttributeCodec,
  discard,
  optionalNonTransitive,
  u32Bytes,
  wellKnown,
  withdraw,
} from './attribute-codec.ts';

/** MULTI_EXIT_DISC (RFC 4271 §5.1.4). */
export const medCodec: AttributeCodec = {
  type: 4,
  name: 'MULTI_EXIT_DISC',
  flags: optionalNonTransitive,
  decode(value, _session, into) {
    // RFC 7606 §7.4
    if (value.length !== 4) return withdraw(updateError.attributeLength, `length ${value.length}`);
    into.med = readU32(value, 0);
    return undefined;
  },
  encode: ({ med }) => (med === undefined ? undefined : u32Bytes(med)),
};

/** LOCAL_PREF (RFC 4271 §5.1.5). A missing one is not an error: BIRD and GoBGP assume 100 too. */
export const localPrefCodec: AttributeCodec = {
  type: 5,
  name: 'LOCAL_PREF',
  flags: wellKnown,
  decode(value, session, into) {
    // RFC 7606 §7.5
    if (!session.ibgp) return discard(0, 'from an external peer');
    if (value.length !== 4) return withdraw(updateError.attributeLength, `length ${value.length}`);
    into.localPref = readU32(value, 0);
    return undefined;
  },
  encode: ({ localPref }, session: SessionContext) =>
    localPref === undefined || !session.ibgp ? undefined : u32Bytes(localPref),
};
