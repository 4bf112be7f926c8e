import { formatWireAddress } from '../address-text.ts';
import { type AfiSafi, afiIpv4, afiIpv6, isUnicast } from '../afi-safi.ts';
import { errorCode, updateError, WireError } from '../error.ts';
import { NlriRun } from '../nlri-run.ts';
import { readU16 } from '../octets.ts';
import type { SessionContext } from '../session-context.ts';

export const mpReachType = 14;
export const mpUnreachType = 15;

/** MP_REACH_NLRI (RFC 4760 §3). Families we cannot read are carried as octets. */
export type MpReach = AfiSafi &
  (
    | { readonly kind: 'unicast'; readonly nextHops: readonly string[]; readonly nlri: NlriRun }
    | { readonly kind: 'carried'; readonly nextHop: Uint8Array; readonly nlri: Uint8Array }
  );

/** MP_UNREACH_NLRI (RFC 4760 §4). */
export type MpUnreach = AfiSafi &
  (
    | { readonly kind: 'unicast'; readonly withdrawn: NlriRun }
    | { readonly kind: 'carried'; readonly withdrawn: Uint8Array }
  );

/**
 * Any fault here means that routes cannot be located, so it ends the session
 * (RFC 7606 §7.11, §5.3).
 */
export function decodeMpReach(value: Uint8Array, session: SessionContext): MpReach | WireError {
  if (value.length < 5) return fault('MP_REACH_NLRI is too short');
  const afi = readU16(value, 0);
  const safi = value[2]!;
  const nextHopEnd = 4 + value[3]!;
  // One reserved octet follows the next hop and is ignored (RFC 4760 §3).
  if (nextHopEnd + 1 > value.length) return fault('MP_REACH_NLRI: the next hop runs past the end');
  const nextHop = value.subarray(4, nextHopEnd);
  if (!isUnicast(afi, safi)) {
    const nlri = new Uint8Array(value.subarray(nextHopEnd + 1));
    return { kind: 'carried', afi, safi, nextHop: new Uint8Array(nextHop), nlri };
  }
  const addPath = afi === afiIpv4 ? session.addPathIpv4 : session.addPathIpv6;
  const nlri = NlriRun.check(value, nextHopEnd + 1, value.length, afi, addPath, 'MP_REACH_NLRI');
  if (nlri instanceof WireError) return nlri;
  const nextHops = readNextHops(nextHop);
  if (nextHops === undefined) return fault(`MP_REACH_NLRI: next hop of ${nextHop.length} octets`);
  return { kind: 'unicast', afi, safi, nextHops, nlri };
}

/**
 * The length tells the family of the next hop (RFC 8950 §3): 4 is IPv4, 16 is
 * IPv6, 32 is IPv6 global and link-local (RFC 2545 §3). IPv6 routes with an
 * IPv4 next hop are in no RFC but in the field (ExaBGP sends them); the NLRI
 * can be located, so they are no reason to end a session.
 */
function readNextHops(octets: Uint8Array): string[] | undefined {
  if (octets.length === 4) return [formatWireAddress(octets, 0, afiIpv4)];
  if (octets.length === 16) return [formatWireAddress(octets, 0, afiIpv6)];
  if (octets.length !== 32) return undefined;
  return [formatWireAddress(octets, 0, afiIpv6), formatWireAddress(octets, 16, afiIpv6)];
}

export function decodeMpUnreach(value: Uint8Array, session: SessionContext): MpUnreach | WireError {
  if (value.length < 3) return fault('MP_UNREACH_NLRI is too short');
  const afi = readU16(value, 0);
  const safi = value[2]!;
  if (!isUnicast(afi, safi)) {
    return { kind: 'carried', afi, safi, withdrawn: new Uint8Array(value.subarray(3)) };
  }
  const addPath = afi === afiIpv4 ? session.addPathIpv4 : session.addPathIpv6;
  const withdrawn = NlriRun.check(value, 3, value.length, afi, addPath, 'MP_UNREACH_NLRI');
  if (withdrawn instanceof WireError) return withdrawn;
  return { kind: 'unicast', afi, safi, withdrawn };
}

function fault(detail: string): WireError {
  return new WireError('session-reset', {
    code: errorCode.update,
    subcode: updateError.optionalAttribute,
    detail,
  });
}
