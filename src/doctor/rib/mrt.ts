import { formatWireAddress } from '../../bgp/wire/address-text.ts';
import { afiIpv4, afiIpv6 } from '../../bgp/wire/afi-safi.ts';
import { readU16, readU32 } from '../../bgp/wire/octets.ts';
import { DumpProblem, type RibDumpBuilder } from './rib-dump.ts';

/**
 * MRT files (RFC 6396) of type TABLE_DUMP_V2: what route collectors, BIRD's `mrt`, FRR's
 * `dump bgp routes-mrt` and GoBGP's `mrt dump` write. A table of peers, then one record for each
 * prefix with the path of each peer. Nothing is marked as the best path: every path counts.
 */
const tableDumpV2 = 13;
const subtype = {
  peerIndexTable: 1,
  ipv4Unicast: 2,
  ipv6Unicast: 4,
  // RFC 8050: the same with a path identifier.
  ipv4UnicastAddPath: 8,
  ipv6UnicastAddPath: 10,
} as const;
const otherTypes: Readonly<Record<number, string>> = {
  11: 'OSPFv2',
  12: 'TABLE_DUMP, the older form',
  16: 'BGP4MP: messages, not a table',
  17: 'BGP4MP_ET: messages, not a table',
  32: 'ISIS',
  48: 'OSPFv3',
};

export function looksLikeMrt(bytes: Uint8Array): boolean {
  if (bytes.length < 12) return false;
  const type = readU16(bytes, 4);
  const length = readU32(bytes, 8);
  return (type === tableDumpV2 || type in otherTypes) && readU16(bytes, 6) < 16 && length < 1 << 24;
}

export function readMrt(bytes: Uint8Array, builder: RibDumpBuilder): string {
  let peers: string[] | undefined;
  let at = 0;
  let sequence = 0;
  while (at < bytes.length) {
    if (at + 12 > bytes.length) throw cut(at);
    const type = readU16(bytes, at + 4);
    const kind = readU16(bytes, at + 6);
    const end = at + 12 + readU32(bytes, at + 8);
    if (end > bytes.length) throw cut(at);
    if (type !== tableDumpV2) {
      throw new DumpProblem(
        `octet ${at} begins a record of MRT type ${otherTypes[type] ?? type}; TABLE_DUMP_V2 is what is read`,
      );
    }
    const record = bytes.subarray(at + 12, end);
    if (kind === subtype.peerIndexTable) peers = readPeers(record, builder);
    else if (kind === subtype.ipv4Unicast || kind === subtype.ipv4UnicastAddPath) {
      sequence = readPrefix(
        record,
        afiIpv4,
        kind !== subtype.ipv4Unicast,
        peers,
        builder,
        sequence,
        at,
      );
    } else if (kind === subtype.ipv6Unicast || kind === subtype.ipv6UnicastAddPath) {
      sequence = readPrefix(
        record,
        afiIpv6,
        kind !== subtype.ipv6Unicast,
        peers,
        builder,
        sequence,
        at,
      );
    } else builder.skipped++;
    at = end;
  }
  if (peers === undefined) throw new DumpProblem('it has no table of peers (PEER_INDEX_TABLE)');
  return 'MRT';
}

const cut = (at: number) =>
  new DumpProblem(
    `the record at octet ${at} goes beyond the end of the file: the dump is cut short`,
  );

/** Each peer by its address. */
function readPeers(record: Uint8Array, builder: RibDumpBuilder): string[] {
  const need = (end: number) => {
    if (end > record.length) throw new DumpProblem('its table of peers is damaged');
  };
  need(8);
  builder.addresses.add(formatWireAddress(record, 0, afiIpv4));
  const nameLength = readU16(record, 4);
  need(8 + nameLength);
  const count = readU16(record, 6 + nameLength);
  let at = 8 + nameLength;
  const peers: string[] = [];
  for (let n = 0; n < count; n++) {
    need(at + 5);
    const type = record[at]!;
    const addressLength = (type & 1) === 1 ? 16 : 4;
    need(at + 5 + addressLength + ((type & 2) === 2 ? 4 : 2));
    peers.push(formatWireAddress(record, at + 5, addressLength === 16 ? afiIpv6 : afiIpv4));
    at += 5 + addressLength + ((type & 2) === 2 ? 4 : 2);
  }
  return peers;
}

type UnicastAfi = typeof afiIpv4 | typeof afiIpv6;

/** The number of the record after this one: they count up, and a gap is a loss. */
function readPrefix(
  record: Uint8Array,
  afi: UnicastAfi,
  hasPathId: boolean,
  peers: readonly string[] | undefined,
  builder: RibDumpBuilder,
  expected: number,
  octet: number,
): number {
  const damaged = () => new DumpProblem(`the record at octet ${octet} is damaged`);
  if (peers === undefined) throw new DumpProblem('routes come before its table of peers');
  if (record.length < 7) throw damaged();
  const sequence = readU32(record, 0);
  // Each family may count by itself.
  if (sequence !== expected && sequence !== 0) {
    throw new DumpProblem(
      `the record at octet ${octet} has number ${sequence} and not ${expected}: records are missing`,
    );
  }
  const length = record[4]!;
  const octets = (length + 7) >> 3;
  if (length > (afi === afiIpv4 ? 32 : 128) || record.length < 7 + octets) throw damaged();
  const address = new Uint8Array(16);
  address.set(record.subarray(5, 5 + octets));
  const prefix = `${formatWireAddress(address, 0, afi)}/${length}`;
  let at = 7 + octets;
  const count = readU16(record, 5 + octets);
  for (let n = 0; n < count; n++) {
    const head = hasPathId ? 12 : 8;
    if (at + head > record.length) throw damaged();
    const peer = peers[readU16(record, at)];
    const end = at + head + readU16(record, at + head - 2);
    if (end > record.length || peer === undefined) throw damaged();
    const { hop, asPath } = readAttributes(record.subarray(at + head, end), afi, damaged);
    builder.add(prefix, hop, true, { from: peer, protocol: 'bgp', asPath });
    at = end;
  }
  if (at !== record.length) throw damaged();
  return sequence + 1;
}

/** NEXT_HOP, or that of MP_REACH_NLRI, which stands here without its AFI, SAFI and NLRI (§4.3.4). */
function readAttributes(bytes: Uint8Array, afi: UnicastAfi, damaged: () => DumpProblem) {
  let hop = '';
  let asPath = '';
  let at = 0;
  while (at < bytes.length) {
    const isLong = (bytes[at]! & 0x10) !== 0;
    const head = isLong ? 4 : 3;
    if (at + head > bytes.length) throw damaged();
    const type = bytes[at + 1]!;
    const end = at + head + (isLong ? readU16(bytes, at + 2) : bytes[at + 2]!);
    if (end > bytes.length) throw damaged();
    const value = bytes.subarray(at + head, end);
    if (type === 2) asPath = readAsPath(value, damaged);
    if (type === 3 && value.length === 4) hop = formatWireAddress(value, 0, afiIpv4);
    if (type === 14) hop = readMpNextHop(value, afi) || hop;
    at = end;
  }
  return { hop, asPath };
}

function readMpNextHop(value: Uint8Array, afi: UnicastAfi): string {
  // Some writers put the whole attribute: AFI (2), SAFI (1), then the length.
  const isWhole = value.length > 4 && value[0] === 0 && readU16(value, 0) === afi;
  const at = isWhole ? 3 : 0;
  const length = value[at] ?? 0;
  if (value.length < at + 1 + length) return '';
  if (length === 4) return formatWireAddress(value, at + 1, afiIpv4);
  return length === 16 || length === 32 ? formatWireAddress(value, at + 1, afiIpv6) : '';
}

/** AS numbers have four octets here, whatever the session had. */
function readAsPath(value: Uint8Array, damaged: () => DumpProblem): string {
  const words: string[] = [];
  let at = 0;
  while (at < value.length) {
    const kind = value[at];
    const count = value[at + 1] ?? 0;
    const end = at + 2 + count * 4;
    if (end > value.length) throw damaged();
    const numbers = Array.from({ length: count }, (_, n) => String(readU32(value, at + 2 + n * 4)));
    words.push(kind === 1 ? `{${numbers.join(',')}}` : numbers.join(' '));
    at = end;
  }
  return words.join(' ');
}
