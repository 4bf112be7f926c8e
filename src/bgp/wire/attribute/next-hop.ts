import { formatIpv4Word, parseAddressText, readWord } from '../address-text.ts';
import { afiIpv4 } from '../afi-safi.ts';
import { updateError } from '../error.ts';
import { type AttributeCodec, u32Bytes, wellKnown, withdraw } from './attribute-codec.ts';

export const nextHopType = 3;

/**
 * NEXT_HOP (RFC 4271 §5.1.3) of the IPv4 NLRI. Routes in MP_REACH_NLRI have theirs
 * there, and in an UPDATE with no other routes the list decoder ignores every fault
 * of this attribute (RFC 4760 §3): several routers send 0.0.0.0 beside MP_REACH_NLRI.
 */
export const nextHopCodec: AttributeCodec = {
  type: nextHopType,
  name: 'NEXT_HOP',
  flags: wellKnown,
  decode(value, session, into) {
    // RFC 7606 §7.3
    if (value.length !== 4) return withdraw(updateError.attributeLength, `length ${value.length}`);
    const word = readWord(value, 0);
    const address = formatIpv4Word(word);
    into.nextHop = address;
    if (isHostAddress(word) || session.isReport === true) return undefined;
    return withdraw(updateError.invalidNextHop, address);
  },
  encode({ nextHop }) {
    const words = nextHop === undefined ? undefined : parseAddressText(nextHop);
    return words?.afi === afiIpv4 ? u32Bytes(words.w0 >>> 0) : undefined;
  },
};

/**
 * RFC 4271 §6.3: a valid host address. RFC 1122 §3.2.1.3 gives no host one out of
 * 0.0.0.0/8, 127.0.0.0/8 (never on a wire), 224.0.0.0/4 (multicast) and 240.0.0.0/4
 * (reserved, broadcast). Whether the address is reachable, or our own, is for
 * whoever uses the route.
 */
function isHostAddress(word: number): boolean {
  const first = word >>> 24;
  return first !== 0 && first !== 127 && first < 224;
}
