/**
 * The BGP Monitoring Protocol (RFC 7854, Adj-RIB-Out of RFC 8671, Loc-RIB of
 * RFC 9069): a router reports to a station what its peers advertised to it, before
 * and after its policy, and what it advertised to them. A station only receives.
 *
 *   router ─TCP─▶ BmpFramer ─▶ decodeBmp ─▶ MonitoredRouter ─▶ MonitoredPeer
 *                                                               └▶ one AdjRibIn a view
 *
 * The routes inside are whole BGP UPDATEs, read by the codec of `wire/` with
 * what the peer's two OPENs (in Peer Up) agreed on. So this room knows the
 * envelope and nothing of attributes.
 *
 * A router's stream is not to be trusted more than a peer's: lengths are checked
 * before anything is gathered, a broken envelope ends that one connection, a
 * broken UPDATE inside a sound envelope is counted and skipped. What a router
 * reported is forgotten when its connection ends: there is no way to know whether
 * it is still true.
 */
import { readU16, readU32, readU64 } from '../wire/octets.ts';
import { decodePeerHeader, type PeerHeader, peerHeaderLength } from './peer-header.ts';

export const bmpVersion = 3;
export const bmpHeaderLength = 6;

export const bmpType = {
  routeMonitoring: 0,
  statisticsReport: 1,
  peerDown: 2,
  peerUp: 3,
  initiation: 4,
  termination: 5,
  routeMirroring: 6,
} as const;

export interface Tlv {
  readonly type: number;
  readonly value: Uint8Array;
}

export interface PeerUp {
  readonly type: 'peer-up';
  readonly peer: PeerHeader;
  readonly localAddress: Uint8Array;
  readonly localPort: number;
  readonly remotePort: number;
  /** Whole OPEN messages: what the router sent, and what it got. */
  readonly sentOpen: Uint8Array;
  readonly receivedOpen: Uint8Array;
  readonly information: readonly Tlv[];
}

interface PeerDown {
  readonly type: 'peer-down';
  readonly peer: PeerHeader;
  /** RFC 7854 §4.9, RFC 9069 §5.3. */
  readonly reason: number;
  readonly data: Uint8Array;
}

export type BmpMessage =
  | { readonly type: 'route-monitoring'; readonly peer: PeerHeader; readonly update: Uint8Array }
  | {
      readonly type: 'statistics';
      readonly peer: PeerHeader;
      /** Counters and gauges by type (RFC 7854 §4.8); those of a family are left out. */
      readonly values: ReadonlyMap<number, bigint>;
    }
  | PeerDown
  | PeerUp
  | { readonly type: 'initiation'; readonly information: readonly Tlv[] }
  | { readonly type: 'termination'; readonly information: readonly Tlv[] }
  /** Mirrored messages and types of the future: seen, not used. */
  | { readonly type: 'ignored'; readonly code: number };

/** One whole BMP message; a string says what is wrong with it. */
export function decodeBmp(bytes: Uint8Array): BmpMessage | string {
  const code = bytes[5]!;
  const body = bytes.subarray(bmpHeaderLength);
  switch (code) {
    case bmpType.initiation:
    case bmpType.termination: {
      const information = decodeTlvs(body, 0);
      if (typeof information === 'string') return information;
      return { type: code === bmpType.initiation ? 'initiation' : 'termination', information };
    }
    case bmpType.routeMonitoring:
    case bmpType.statisticsReport:
    case bmpType.peerDown:
    case bmpType.peerUp: {
      if (body.length < peerHeaderLength) return `type ${code} is cut off in its peer header`;
      const peer = decodePeerHeader(body);
      const rest = body.subarray(peerHeaderLength);
      if (code === bmpType.peerUp) return decodePeerUp(peer, rest);
      if (code === bmpType.peerDown) return decodePeerDown(peer, rest);
      if (code === bmpType.statisticsReport) return decodeStatistics(peer, rest);
      return { type: 'route-monitoring', peer, update: rest };
    }
    default:
      return { type: 'ignored', code };
  }
}

function decodeTlvs(bytes: Uint8Array, start: number): Tlv[] | string {
  const list: Tlv[] = [];
  let at = start;
  while (at < bytes.length) {
    if (at + 4 > bytes.length) return 'an information TLV is cut off';
    const end = at + 4 + readU16(bytes, at + 2);
    if (end > bytes.length) return 'an information TLV runs past the end';
    list.push({ type: readU16(bytes, at), value: new Uint8Array(bytes.subarray(at + 4, end)) });
    at = end;
  }
  return list;
}

/** RFC 7854 §4.10: address, ports, the two OPENs, and perhaps information. */
function decodePeerUp(peer: PeerHeader, body: Uint8Array): PeerUp | string {
  if (body.length < 20) return 'Peer Up is cut off';
  const sentEnd = openEnd(body, 20);
  if (sentEnd === undefined) return 'Peer Up: the sent OPEN is cut off';
  const receivedEnd = openEnd(body, sentEnd);
  if (receivedEnd === undefined) return 'Peer Up: the received OPEN is cut off';
  const information = decodeTlvs(body, receivedEnd);
  if (typeof information === 'string') return information;
  return {
    type: 'peer-up',
    peer,
    localAddress: new Uint8Array(body.subarray(0, 16)),
    localPort: readU16(body, 16),
    remotePort: readU16(body, 18),
    sentOpen: new Uint8Array(body.subarray(20, sentEnd)),
    receivedOpen: new Uint8Array(body.subarray(sentEnd, receivedEnd)),
    information,
  };
}

/** Where the BGP message at `at` ends, by its own length; undefined if it does not fit. */
function openEnd(bytes: Uint8Array, at: number): number | undefined {
  if (at + 19 > bytes.length) return undefined;
  const length = readU16(bytes, at + 16);
  return length < 19 || at + length > bytes.length ? undefined : at + length;
}

function decodePeerDown(peer: PeerHeader, body: Uint8Array): PeerDown | string {
  const reason = body[0];
  if (reason === undefined) return 'Peer Down has no reason';
  return { type: 'peer-down', peer, reason, data: new Uint8Array(body.subarray(1)) };
}

/** RFC 7854 §4.8: 32-bit counters and 64-bit gauges; 11-octet ones are of one family. */
function decodeStatistics(peer: PeerHeader, body: Uint8Array): BmpMessage | string {
  if (body.length < 4) return 'Statistics Report is cut off';
  const list = decodeTlvs(body, 4);
  if (typeof list === 'string') return list;
  const values = new Map<number, bigint>();
  for (const { type, value } of list) {
    if (value.length === 4) values.set(type, BigInt(readU32(value, 0)));
    else if (value.length === 8) values.set(type, readU64(value, 0));
  }
  return { type: 'statistics', peer, values };
}
