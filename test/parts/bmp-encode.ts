import { bmpHeaderLength, bmpType, bmpVersion, type Tlv } from '../../src/bgp/bmp/bmp-message.ts';
import { locRibPeerType, type PeerHeader, peerFlag } from '../../src/bgp/bmp/peer-header.ts';
import { addressOctets } from '../../src/bgp/wire/address-text.ts';
import { hexToBytes } from '../../src/bgp/wire/hex.ts';
import { u16, u32 } from '../../src/bgp/wire/octets.ts';

/** The router's side of BMP, for tests of the station. */
export function encodeInitiation(sysName: string, sysDescr: string): Uint8Array {
  const text = new TextEncoder();
  return message(
    bmpType.initiation,
    tlvs([
      { type: 1, value: text.encode(sysDescr) },
      { type: 2, value: text.encode(sysName) },
    ]),
  );
}

/** Reason 0: administratively closed (RFC 7854 §4.5). */
export function encodeTermination(reason = 0): Uint8Array {
  return message(bmpType.termination, tlvs([{ type: 1, value: Uint8Array.from(u16(reason)) }]));
}

export function encodePeerUp(
  peer: PeerHeader,
  session: {
    readonly localAddress: string;
    readonly localPort: number;
    readonly remotePort: number;
    readonly sentOpen: Uint8Array;
    readonly receivedOpen: Uint8Array;
  },
): Uint8Array {
  return message(
    bmpType.peerUp,
    peerHeader(peer),
    address16(session.localAddress),
    Uint8Array.from([...u16(session.localPort), ...u16(session.remotePort)]),
    session.sentOpen,
    session.receivedOpen,
  );
}

export function encodePeerDown(
  peer: PeerHeader,
  reason: number,
  data: Uint8Array = new Uint8Array(0),
): Uint8Array {
  return message(bmpType.peerDown, peerHeader(peer), Uint8Array.of(reason), data);
}

export function encodeRouteMonitoring(peer: PeerHeader, update: Uint8Array): Uint8Array {
  return message(bmpType.routeMonitoring, peerHeader(peer), update);
}

export function encodeStatistics(
  peer: PeerHeader,
  values: ReadonlyMap<number, bigint>,
): Uint8Array {
  const list = [...values].map(([type, value]) => {
    const octets = new Uint8Array(8);
    new DataView(octets.buffer).setBigUint64(0, value);
    return { type, value: octets };
  });
  const count = Uint8Array.from(u32(list.length));
  return message(bmpType.statisticsReport, peerHeader(peer), count, tlvs(list));
}

function message(type: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const length = bmpHeaderLength + parts.reduce((sum, part) => sum + part.length, 0);
  const header = Uint8Array.from([bmpVersion, ...u32(length), type]);
  return new Uint8Array(Buffer.concat([header, ...parts]));
}

function tlvs(list: readonly Tlv[]): Uint8Array {
  return Uint8Array.from(
    list.flatMap(({ type, value }) => [...u16(type), ...u16(value.length), ...value]),
  );
}

function peerHeader(peer: PeerHeader): Uint8Array {
  const isIpv6 = peer.address.includes(':');
  const isOut = peer.view.startsWith('adj-rib-out');
  const flags =
    peer.peerType === locRibPeerType
      ? 0
      : (isIpv6 ? peerFlag.ipv6 : 0) |
        (peer.view.endsWith('post-policy') ? peerFlag.postPolicy : 0) |
        (peer.as2 ? peerFlag.as2 : 0) |
        (isOut ? peerFlag.adjRibOut : 0);
  return Uint8Array.from([
    peer.peerType,
    flags,
    ...hexToBytes(peer.distinguisher),
    ...address16(peer.address),
    ...u32(peer.asn),
    ...(addressOctets(peer.routerId) ?? [0, 0, 0, 0]),
    ...u32(Math.floor(peer.timestampMs / 1000)),
    ...u32((peer.timestampMs % 1000) * 1000),
  ]);
}

/** 16 octets; an IPv4 address stands in the last four (RFC 7854 §4.2). */
function address16(text: string): Uint8Array {
  const octets = addressOctets(text) ?? new Uint8Array(4);
  const bytes = new Uint8Array(16);
  bytes.set(octets, 16 - octets.length);
  return bytes;
}
