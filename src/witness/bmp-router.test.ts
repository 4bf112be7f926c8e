import { beforeEach, describe, expect, test } from 'vitest';
import {
  encodeInitiation,
  encodePeerDown,
  encodePeerUp,
  encodeRouteMonitoring,
  encodeStatistics,
} from '../../test/parts/bmp-encode.ts';
import { MonitoredRouter } from '../bgp/bmp/monitored-router.ts';
import type { PeerHeader } from '../bgp/bmp/peer-header.ts';
import {
  type AfiSafi,
  defaultContext,
  encodeAnnounce,
  encodeEndOfRib,
  encodeOpen,
  encodeWithdraw,
  ipv4Unicast,
  ipv6Unicast,
  Nlri,
} from '../bgp/wire/message.ts';
import { parsePrefix } from '../net/prefix.ts';
import { BmpRouter } from './bmp-router.ts';

const peer: PeerHeader = {
  peerType: 0,
  distinguisher: '0000000000000000',
  address: '10.4.94.32',
  asn: 64513,
  routerId: '10.4.94.32',
  view: 'adj-rib-in-post-policy',
  as2: false,
  timestampMs: 1_700_000_000_123,
};
const other: PeerHeader = { ...peer, address: '10.4.94.21', routerId: '10.4.94.21' };
const prePolicy: PeerHeader = { ...peer, view: 'adj-rib-in-pre-policy' };

function peerUp(header: PeerHeader, families: readonly AfiSafi[] = [ipv4Unicast]): Uint8Array {
  const capabilities = families.map((one) => ({ name: 'multiprotocol', ...one }) as const);
  const open = (asn: number) =>
    encodeOpen({ version: 4, asn, holdSeconds: 90, routerId: '10.0.0.1', capabilities });
  return encodePeerUp(header, {
    localAddress: '10.4.36.238',
    localPort: 179,
    remotePort: 40000,
    sentOpen: open(64524),
    receivedOpen: open(64513),
  });
}

const announce = (header: PeerHeader, text: string) =>
  encodeRouteMonitoring(
    header,
    encodeAnnounce(
      {
        prefixes: [Nlri.parse(text)!],
        attributes: { origin: 'igp', asPath: [] },
        nextHops: [header.address],
      },
      { ...defaultContext, ibgp: true },
    )[0]!,
  );
const withdraw = (header: PeerHeader, text: string) =>
  encodeRouteMonitoring(header, encodeWithdraw([Nlri.parse(text)!], defaultContext)[0]!);
const endOfRib = (header: PeerHeader, family = ipv4Unicast) =>
  encodeRouteMonitoring(header, encodeEndOfRib(family));
const statistics = (header: PeerHeader) => encodeStatistics(header, new Map([[7, 1n]]));

let nowMs: number;
let monitored: MonitoredRouter;
let router: BmpRouter;

beforeEach(() => {
  nowMs = 1_000;
  monitored = new MonitoredRouter('192.0.2.7', 40000);
  router = new BmpRouter(monitored, () => nowMs);
});

function take(...messages: readonly Uint8Array[]): void {
  for (const one of messages) monitored.take(one);
  router.look(nowMs);
}

/** Looks every second, as the witness does. */
function pass(seconds: number, ...everySecond: readonly Uint8Array[]): void {
  for (let passed = 0; passed < seconds; passed++) {
    nowMs += 1_000;
    take(...everySecond);
  }
}

const complete = () => Object.keys(router.completeSinceMs);
const note = () => router.seen().source.note;
const last = (text: string) => router.lastRouteMs(parsePrefix(text)!);
const held = () => router.seen().table.routes.map(({ prefix }) => `${prefix}`);

describe('what is complete', () => {
  test('nothing before it has sent a route and End-of-RIB of every neighbor that is up', () => {
    expect([complete(), router.seen().source.state]).toEqual([[], 'partly']);
    take(encodeInitiation('tor-36', 'a router'), peerUp(peer), peerUp(other), endOfRib(peer));
    expect(complete()).toEqual([]);
    expect(note()).toContain('it has sent no route yet');
    take(announce(other, '10.5.113.0/24'));
    expect(complete()).toEqual([]);
    expect(note()).toContain('no End-of-RIB yet (10.4.94.21)');
    pass(3);
    take(endOfRib(other));
    expect(router.completeSinceMs).toEqual({ ipv4: 4_000 });
    expect(router.seen()).toMatchObject({
      table: { router: 'tor-36', addresses: ['192.0.2.7', '10.4.36.238'] },
      source: { state: 'seen', holds: 'BMP: 1 route (ipv4 only)' },
    });
  });

  test('a neighbor whose session begins while it reports needs no End-of-RIB', () => {
    // As FRR does: neighbors that are down are named at the start, later ones get none.
    const neverUp = { ...other, routerId: '0.0.0.0' };
    take(encodePeerDown(neverUp, 2), peerUp(peer), announce(peer, '10.5.112.0/24'), endOfRib(peer));
    pass(5);
    take(peerUp(other));
    expect(router.completeSinceMs).toEqual({ ipv4: 1_000 });
    take(encodePeerDown(peer, 3), peerUp(peer));
    expect(router.completeSinceMs).toEqual({ ipv4: 1_000 });
  });

  test('one that was not known to be down does, or a minute without anything new', () => {
    take(peerUp(peer), announce(peer, '10.5.112.0/24'), endOfRib(peer));
    pass(20);
    take(peerUp(other), announce(other, '10.5.113.0/24'));
    pass(59);
    expect(complete()).toEqual([]);
    pass(1);
    expect(complete()).toEqual(['ipv4']);
  });

  test('of those named at the start one without End-of-RIB keeps it incomplete', () => {
    take(peerUp(peer), peerUp(other), announce(peer, '10.5.112.0/24'), endOfRib(peer));
    pass(600);
    expect(complete()).toEqual([]);
  });

  test('End-of-RIB of a view that is not monitored does not make it an empty table', () => {
    take(peerUp(peer), announce(prePolicy, '10.5.112.0/24'), endOfRib(prePolicy), endOfRib(peer));
    expect(complete()).toEqual(['ipv4']);
    expect(held()).toEqual(['10.5.112.0/24']);
  });

  test('a family that it does not monitor is not complete, whoever speaks of it', () => {
    take(peerUp(peer, [ipv4Unicast, ipv6Unicast]), announce(peer, '10.5.112.0/24'));
    take(endOfRib(peer));
    expect(complete()).toEqual(['ipv4']);
    take(endOfRib(peer, ipv6Unicast));
    expect(complete()).toEqual(['ipv4']);
  });

  test('what the router originates itself is from nobody, without Peer Up and End-of-RIB', () => {
    // As FRR reports a `network` statement.
    const own = { ...peer, address: '0.0.0.0', routerId: '0.0.0.0', asn: 0 };
    take(peerUp(peer), announce(own, '10.4.94.0/24'), announce(peer, '10.5.112.0/24'));
    expect(complete()).toEqual([]);
    take(endOfRib(peer));
    expect(complete()).toEqual(['ipv4']);
    expect([held(), router.neighbors.map(({ address }) => address)]).toEqual([
      ['10.5.112.0/24', '10.4.94.0/24'],
      ['10.4.94.32'],
    ]);
  });

  test('routes that could not be read', () => {
    take(peerUp(peer), announce(peer, '10.5.112.0/24'), endOfRib(peer));
    expect(complete()).toEqual(['ipv4']);
    take(encodeRouteMonitoring(peer, new Uint8Array(30)));
    expect(complete()).toEqual([]);
    expect(note()).toContain('could not be read');
  });

  test('silence of a router that sends statistics; afterwards it begins anew', () => {
    take(peerUp(peer), announce(peer, '10.5.112.0/24'), endOfRib(peer));
    pass(10, statistics(peer));
    expect(router.completeSinceMs).toEqual({ ipv4: 1_000 });
    pass(9);
    expect(complete()).toEqual([]);
    expect(note()).toContain('silent');
    pass(1, statistics(peer));
    expect(router.completeSinceMs).toEqual({ ipv4: nowMs });
  });

  test('silence of one that sends none says nothing: TCP answers for it', () => {
    take(peerUp(peer), announce(peer, '10.5.112.0/24'), endOfRib(peer));
    pass(600);
    expect(router.completeSinceMs).toEqual({ ipv4: 1_000 });
  });
});

describe('when a route was last held', () => {
  beforeEach(() => {
    take(peerUp(peer), peerUp(other), endOfRib(peer), endOfRib(other));
  });

  test('now, by whoever and in whatever view; a piece of the prefix counts, a larger one does not', () => {
    expect(last('10.5.112.0/24')).toBeUndefined();
    take(announce(prePolicy, '10.5.112.128/25'), announce(other, '10.5.0.0/16'));
    expect(last('10.5.112.0/24')).toBe(Number.POSITIVE_INFINITY);
    expect(last('10.5.113.0/24')).toBeUndefined();
    expect(last('10.0.0.0/8')).toBe(Number.POSITIVE_INFINITY);
  });

  test('until it was withdrawn, though it came and went between two looks', () => {
    nowMs = 5_000;
    take(announce(peer, '10.5.112.7/32'), withdraw(peer, '10.5.112.7/32'));
    nowMs = 9_000;
    expect(last('10.5.112.0/24')).toBe(5_000);
    expect(last('10.5.112.0/25')).toBe(5_000);
    expect(last('10.5.112.128/25')).toBeUndefined();
  });

  test('until its neighbor went, or began a new session', () => {
    take(announce(peer, '10.5.112.0/24'), announce(other, '10.5.113.0/24'));
    nowMs = 5_000;
    take(encodePeerDown(peer, 3));
    nowMs = 6_000;
    take(peerUp(other));
    expect([last('10.5.112.0/24'), last('10.5.113.0/24')]).toEqual([5_000, 6_000]);
  });
});

test('a session is there from Peer Up to Peer Down, however its address is written', () => {
  const six = { ...peer, address: 'fd00::32' };
  take(peerUp(peer), peerUp(six));
  expect(router.lastSessionMs('10.4.94.32')).toBe(Number.POSITIVE_INFINITY);
  expect(router.lastSessionMs('fd00:0::0032')).toBe(Number.POSITIVE_INFINITY);
  nowMs = 7_000;
  take(encodePeerDown(peer, 3), encodePeerDown(six, 3));
  expect(router.lastSessionMs('10.4.94.32')).toBe(7_000);
  expect(router.lastSessionMs('fd00:0::0032')).toBe(7_000);
  expect(router.lastSessionMs('10.4.94.99')).toBeUndefined();
});
