import { formatIpv4Word, parseAddressText, readWord } from '../address-text.ts';
import { afiIpv4 } from '../afi-safi.ts';
import { updateError } from '../error.ts';
import { type AttributeCodec, u32Bytes, wellKnown, withdraw } from './attribute-codec.ts';

/** NEXT_HOP (RFC 4271 §5.1.3). Other families have theirs inside MP_REACH_NLRI. */
export const nextHopCodec: AttributeCodec = {
  type: 3,
  name: 'NEXT_HOP',
  flags: wellKnown,
  decode(value, _session, into) {
    // RFC 7606 §7.3
    if (value.length !== 4) return withdraw(updateError.attributeLength, `length ${value.length}`);
    const word = readWord(value, 0);
    const address = formatIpv4Word(word);
    // RFC 4271 §6.3: must be a host's address. Whether it is a reachable one,
    // or our own, is for whoever uses the route.
    if (word === 0 || word >>> 28 === 0xe) return withdraw(updateError.invalidNextHop, address);
    into.nextHop = address;
    return undefined;
  },
  encode({ nextHop }) {
    const words = nextHop === undefined ? undefined : parseAddressText(nextHop);
    return words?.afi === afiIpv4 ? u32Bytes(words.w0 >>> 0) : undefined;
  },
};
