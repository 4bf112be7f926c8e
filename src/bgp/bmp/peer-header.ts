import { formatIpv4Word, formatWireAddress, readWord } from '../wire/address-text.ts';
import { afiIpv4, afiIpv6 } from '../wire/afi-safi.ts';
import { bytesToHex } from '../wire/hex.ts';
import { readU32 } from '../wire/octets.ts';

/** What a route is a part of, from the monitored router's point of view. */
export type RibView =
  | 'adj-rib-in-pre-policy'
  | 'adj-rib-in-post-policy'
  | 'adj-rib-out-pre-policy'
  | 'adj-rib-out-post-policy'
  | 'loc-rib';

/** The per-peer header (RFC 7854 §4.2). */
export interface PeerHeader {
  /** 0 global, 1 of a VRF, 2 local to the router, 3 the router's own Loc-RIB. */
  readonly peerType: number;
  /** Route distinguisher or instance, 16 hex digits. */
  readonly distinguisher: string;
  readonly address: string;
  readonly asn: number;
  readonly routerId: string;
  readonly view: RibView;
  /** AS_PATH in the UPDATEs has 2-octet AS numbers (the A flag). */
  readonly as2: boolean;
  /** When the router received or sent it; 0 if it does not know. */
  readonly timestampMs: number;
}

export const peerHeaderLength = 42;
export const locRibPeerType = 3;

export const peerFlag = {
  ipv6: 0x80,
  postPolicy: 0x40,
  as2: 0x20,
  /** RFC 8671 §4. */
  adjRibOut: 0x10,
} as const;

export function decodePeerHeader(bytes: Uint8Array): PeerHeader {
  const peerType = bytes[0]!;
  const flags = bytes[1]!;
  // RFC 9069 §4.2: a Loc-RIB has flags of its own and no address.
  const isLocRib = peerType === locRibPeerType;
  const isIpv6 = !isLocRib && (flags & peerFlag.ipv6) !== 0;
  const address = isIpv6
    ? formatWireAddress(bytes, 10, afiIpv6)
    : formatWireAddress(bytes, 22, afiIpv4);
  return {
    peerType,
    distinguisher: bytesToHex(bytes.subarray(2, 10)),
    address,
    asn: readU32(bytes, 26),
    routerId: formatIpv4Word(readWord(bytes, 30)),
    view: viewOf(isLocRib, flags),
    as2: !isLocRib && (flags & peerFlag.as2) !== 0,
    timestampMs: readU32(bytes, 34) * 1000 + Math.floor(readU32(bytes, 38) / 1000),
  };
}

function viewOf(isLocRib: boolean, flags: number): RibView {
  if (isLocRib) return 'loc-rib';
  const isPost = (flags & peerFlag.postPolicy) !== 0;
  if ((flags & peerFlag.adjRibOut) !== 0) {
    return isPost ? 'adj-rib-out-post-policy' : 'adj-rib-out-pre-policy';
  }
  return isPost ? 'adj-rib-in-post-policy' : 'adj-rib-in-pre-policy';
}

/**
 * Peers with equal keys are one peer, whatever the view (RFC 7854 §4.2: address, distinguisher,
 * type). Not its router id: FRR names a peer that never was up by 0.0.0.0.
 */
export function peerKey(peer: PeerHeader): string {
  return `${peer.peerType} ${peer.distinguisher} ${peer.address}`;
}
