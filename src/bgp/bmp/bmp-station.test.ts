import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  encodeInitiation,
  encodePeerDown,
  encodePeerUp,
  encodeRouteMonitoring,
  encodeStatistics,
  encodeTermination,
} from '../../../test/parts/bmp-encode.ts';
import {
  type Capability,
  defaultContext,
  encodeAnnounce,
  encodeEndOfRib,
  encodeOpen,
  encodeWithdraw,
  ipv4Unicast,
  Nlri,
  type SessionContext,
} from '../wire/message.ts';
import { BmpStation } from './bmp-station.ts';
import type { MonitoredRouter } from './monitored-router.ts';
import type { PeerHeader } from './peer-header.ts';

const peer: PeerHeader = {
  peerType: 0,
  distinguisher: '0000000000000000',
  address: '10.4.94.32',
  asn: 64513,
  routerId: '10.4.94.32',
  view: 'adj-rib-in-pre-policy',
  as2: false,
  timestampMs: 1_700_000_000_123,
};
const peer6: PeerHeader = { ...peer, address: 'fd00::32' };

function open(asn: number, capabilities: readonly Capability[] = []): Uint8Array {
  return encodeOpen({ version: 4, asn, holdSeconds: 90, routerId: '10.0.0.1', capabilities });
}

function peerUp(header: PeerHeader, mode = 0): Uint8Array {
  const addPath = (own: number): Capability[] =>
    own === 0 ? [] : [{ name: 'add-path', families: [{ afi: 1, safi: 1, mode: own }] }];
  return encodePeerUp(header, {
    localAddress: '10.4.36.238',
    localPort: 179,
    remotePort: 40000,
    // The router takes several paths, the peer sends them.
    sentOpen: open(64524, addPath(mode & 1)),
    receivedOpen: open(64513, addPath(mode & 2)),
  });
}

function announce(header: PeerHeader, text: string, nextHop = '10.4.94.32', pathId = 0) {
  const session: SessionContext = { ...defaultContext, ibgp: true, addPathIpv4: pathId !== 0 };
  const group = {
    prefixes: [Nlri.parse(text, pathId)!],
    attributes: { origin: 'igp' as const, asPath: [], localPref: 200 },
    nextHops: [nextHop],
  };
  return encodeRouteMonitoring(header, encodeAnnounce(group, session)[0]!);
}

let station: BmpStation;
let socket: Socket;

beforeEach(async () => {
  station = new BmpStation({ maxRouters: 2 });
  await station.listen({ host: '127.0.0.1', port: 0 });
  socket = connect({ host: '127.0.0.1', port: station.port! });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
});

afterEach(async () => {
  socket.destroy();
  await station.close();
});

/** Sends all and waits until the station has taken as many messages in all. */
async function report(...messages: readonly Uint8Array[]): Promise<MonitoredRouter> {
  const before = station.routers[0]?.messages ?? 0;
  socket.write(Buffer.concat(messages));
  await expect.poll(() => station.routers[0]?.messages).toBe(before + messages.length);
  return station.routers[0]!;
}

describe('a BMP station', () => {
  test('keeps each view of each peer apart', async () => {
    const router = await report(
      encodeInitiation('tor-36', 'a router'),
      peerUp(peer),
      peerUp(peer6),
      announce(peer, '10.5.112.0/24'),
      announce({ ...peer, view: 'adj-rib-in-post-policy' }, '10.5.113.0/24'),
      announce({ ...peer, view: 'adj-rib-out-post-policy' }, '10.5.114.0/24', '10.4.36.238'),
      announce(peer6, 'fd00:1::/64', 'fd00::32'),
    );
    expect(station.router('tor-36')).toBe(router);
    expect([router.sysName, router.sysDescr, router.faults]).toEqual(['tor-36', 'a router', 0]);
    const reported = router.peers.map((one) => ({
      address: one.address,
      routes: one.views.map((view) => `${view} ${one.rib(view)!.routes()[0]!.prefix}`),
    }));
    expect(reported).toEqual([
      {
        address: '10.4.94.32',
        routes: [
          'adj-rib-in-pre-policy 10.5.112.0/24',
          'adj-rib-in-post-policy 10.5.113.0/24',
          'adj-rib-out-post-policy 10.5.114.0/24',
        ],
      },
      { address: 'fd00::32', routes: ['adj-rib-in-pre-policy fd00:1::/64'] },
    ]);
    const [first] = router.peers;
    expect([first!.asn, first!.localAsn, first!.upSinceMs]).toEqual([
      64513, 64524, 1_700_000_000_123,
    ]);
    const route = first!.rib('adj-rib-out-post-policy')!.routes()[0]!;
    expect([route.nextHops, route.attributes.localPref]).toEqual([['10.4.36.238'], 200]);
  });

  test("keeps a router's own routes, whose next hop is 0.0.0.0, and wrong next hops as they are", async () => {
    const router = await report(
      peerUp(peer),
      announce(peer, '10.5.112.0/24', '0.0.0.0'),
      announce(peer, '10.5.113.0/24', '127.0.0.1'),
    );
    const routes = router.peers[0]!.rib('adj-rib-in-pre-policy')!.routes();
    expect(routes.map(({ nextHops }) => nextHops[0]).sort()).toEqual(['0.0.0.0', '127.0.0.1']);
    expect(router.faults).toBe(0);
  });

  test('follows withdrawals, End-of-RIB, statistics and Peer Down', async () => {
    const gone = encodeWithdraw([Nlri.parse('10.5.112.0/24')!], defaultContext)[0]!;
    let router = await report(
      peerUp(peer),
      announce(peer, '10.5.112.0/24'),
      announce(peer, '10.5.113.0/24'),
      encodeRouteMonitoring(peer, gone),
      encodeRouteMonitoring(peer, encodeEndOfRib(ipv4Unicast)),
      encodeStatistics(peer, new Map([[7, 5n]])),
    );
    const held = router.peers[0]!;
    expect(
      held
        .rib(peer.view)!
        .routes()
        .map((route) => String(route.prefix)),
    ).toEqual(['10.5.113.0/24']);
    expect(held.completeFamilies(peer.view)).toEqual([ipv4Unicast]);
    expect(held.statistics.get(7)).toBe(5n);
    router = await report(encodePeerDown(peer, 4));
    expect(router.peers).toEqual([]);
  });

  test('reads path identifiers where the two OPENs agreed on them', async () => {
    const router = await report(
      peerUp(peer, 3),
      announce(peer, '10.5.112.0/24', '10.0.0.1', 1),
      announce(peer, '10.5.112.0/24', '10.0.0.2', 2),
    );
    expect(router.faults).toBe(0);
    expect(router.peers[0]!.rib(peer.view)!.size).toBe(2);
  });

  test('takes messages cut anywhere', async () => {
    const all = Buffer.concat([peerUp(peer), announce(peer, '10.5.112.0/24')]);
    socket.setNoDelay(true);
    for (const octet of all) {
      if (!socket.write(Uint8Array.of(octet))) await once(socket, 'drain');
    }
    await expect.poll(() => station.routers[0]?.peers[0]?.rib(peer.view)?.size).toBe(1);
  });

  test('takes a Loc-RIB with or without its Peer Up', async () => {
    const locRib: PeerHeader = { ...peer, peerType: 3, address: '0.0.0.0', view: 'loc-rib' };
    const router = await report(announce(locRib, '10.5.112.0/24'));
    expect([router.faults, router.peers[0]!.views]).toEqual([0, ['loc-rib']]);
  });

  test('counts a broken UPDATE and goes on', async () => {
    const router = await report(
      peerUp(peer),
      encodeRouteMonitoring(peer, new Uint8Array(30)),
      announce({ ...peer, address: '10.9.9.9' }, '10.5.112.0/24'),
      announce(peer, '10.5.112.0/24'),
    );
    expect(router.faults).toBe(2);
    expect(router.lastFault).toBe('routes of 10.9.9.9, which is not up');
    expect(router.peers[0]!.rib(peer.view)!.size).toBe(1);
  });

  test('hangs up on what is not BMP, and on Termination, and forgets the router', async () => {
    await report(peerUp(peer));
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await once(socket, 'close');
    await expect.poll(() => station.routers).toEqual([]);
    socket = connect({ host: '127.0.0.1', port: station.port! });
    await once(socket, 'connect');
    socket.write(encodeTermination());
    await once(socket, 'close');
    await expect.poll(() => station.routers).toEqual([]);
  });

  test('turns away more routers than it was made for', async () => {
    const more = [0, 1].map(() => connect({ host: '127.0.0.1', port: station.port! }));
    await Promise.race(more.map((one) => once(one, 'close')));
    expect(station.routers).toHaveLength(2);
    for (const one of more) one.destroy();
  });
});
