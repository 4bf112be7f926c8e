import { describe, expect, test } from 'vitest';
import {
  ofCadastre,
  ofCilium,
  ofNodes,
  toA,
  toB,
  withTor1,
} from '../../../test/doctor/pairs/pair.ts';
import {
  bothRoutes,
  ciliumNode,
  node,
  report,
  route,
  router,
  session,
} from '../../../test/doctor/worlds.ts';
import type { ReportedUnannounced } from '../../model/node-report-status.ts';
import type { Evidence, RouterRoute, RouterTable } from './evidence.ts';
import { judge } from './judge.ts';

describe('a node that leaves', () => {
  const silent = (signs: object, says: object = {}): Evidence => ({
    ...ofCadastre(),
    nodes: ofCadastre().nodes.map((one) => (one.name === 'b' ? { ...one, ...signs } : one)),
    reports: [
      ofCadastre().reports[0]!,
      report('b', { sessions: [session('tor1', '10.0.0.2')], ...says }),
    ],
    routers: [router('tor1', [toA])],
  });
  const detail = 'b is being drained; its routes are withdrawn: the node is cordoned';
  const stated = { unannounced: [{ cidr: '10.1.1.0/24', reason: 'NodeDraining', detail }] };

  test.each<[string, Evidence, boolean]>([
    ['shuts down', silent({ isShuttingDown: true }), true],
    ['is out of service', silent({ isOutOfService: true }), true],
    ['is cordoned, and says why', silent({ isCordoned: true }, stated), true],
    ['is cordoned, and says nothing', silent({ isCordoned: true }), false],
  ])('one that %s withdraws its block on purpose: %#', (_, evidence, isMeant) => {
    expect(judge(evidence).filter(({ node }) => node === 'b').length === 0).toBe(isMeant);
  });
});

describe('what routers hold', () => {
  test('an empty table means that every pod is cut off; a table of the other family means nothing', () => {
    const none = { ...ofCilium(), routers: [router('tor1', [])] };
    expect(judge(none).map(({ reason, node: who }) => [reason, who])).toEqual([
      ['Blackhole', 'a'],
      ['Blackhole', 'b'],
    ]);
    const other = router('tor1', [], { families: new Set(['ipv6']) });
    expect(judge({ ...ofCilium(), routers: [other] })).toEqual([]);
  });

  test('equal paths to the owner and to another node are a detour that draining does not hurt', () => {
    const [found, ...more] = judge(
      withTor1(ofCilium(), toA, toB, route('10.1.1.0/24', '10.0.0.1')),
    );
    expect(more).toEqual([]);
    expect(found).toMatchObject({ reason: 'Detour', node: 'a', hurts: { now: [], if: [] } });
    expect(found?.says.tor1).toBe('via 10.0.0.1 (a) and 10.0.0.2 (b)');
  });

  test('a more specific route to another node takes a part of the block away', () => {
    const found = judge(withTor1(ofCilium(), toA, toB, route('10.1.1.128/25', '10.0.0.1')));
    expect(found.map(({ reason, prefix: at, owner }) => [reason, at, owner])).toEqual([
      ['Detour', '10.1.1.128/25', 'b'],
    ]);
  });

  test('a host route of the owner itself, a default route and other people are nobody to us', () => {
    const quiet = withTor1(
      ofCilium(),
      toA,
      toB,
      route('10.1.1.9/32', '10.0.0.2'),
      route('0.0.0.0/0', '10.0.0.254'),
      route('172.16.0.0/12', ''),
      route('10.0.0.2/32', '10.0.0.2'),
    );
    expect(judge(quiet)).toEqual([]);
  });

  test('a route that the router holds and cannot use is no way to the pods', () => {
    const found = judge(
      withTor1(ofCilium(), toA, route('10.1.1.0/24', '10.0.0.2', { isUsed: false })),
    );
    expect(found.map(({ reason }) => reason)).toEqual(['Blackhole']);
    expect(found[0]?.says.tor1).toBe('in the table, not used: via 10.0.0.2 (b)');
  });

  test('a link-local next hop is matched by who told it', () => {
    const told = route('10.1.1.0/24', 'fe80::1', { from: '10.0.0.2' });
    expect(judge(withTor1(ofCilium(), toA, told))).toEqual([]);
  });

  test('a node by its IPv6 address, however it is written', () => {
    const evidence = { ...ofCilium(), nodes: [node('a', '10.0.0.1'), node('b', 'FD00::0:2')] };
    expect(judge(withTor1(evidence, toA, route('10.1.1.0/24', 'fd00::2')))).toEqual([]);
  });

  test('where peers are configured, they say which router is to hold what', () => {
    const peer = (name: string, address: string, rack: string) => ({
      name,
      address,
      port: 179,
      asn: 64524,
      localAsn: 64513,
      families: ['ipv4' as const],
      holdSeconds: 90,
      gracefulRestartSeconds: 0,
      nodeSelectors: [{ matchLabels: { rack } }],
    });
    const evidence: Evidence = {
      ...ofCilium(),
      nodes: [
        node('a', '10.0.0.1', { labels: { rack: '1' } }),
        node('b', '10.0.0.2', { labels: { rack: '2' } }),
      ],
      routers: [
        router('tor1', bothRoutes, { addresses: ['10.0.0.251'] }),
        router('tor2', [toA], { addresses: ['10.0.0.252'] }),
      ],
    };
    const apart = {
      ...evidence,
      peers: [peer('x', '10.0.0.251', '2'), peer('y', '10.0.0.252', '1')],
    };
    expect(judge(apart)).toEqual([]);
    const both = { ...apart, peers: [...apart.peers, peer('z', '10.0.0.252', '2')] };
    expect(judge(both).map(({ reason, prefix: at }) => [reason, at])).toEqual([
      ['NotHeld', '10.1.1.0/24'],
    ]);
  });

  test('a router that its node speaks with and that is not heard may hold the block', () => {
    const heard = (name: string, address: string, routes: RouterRoute[], more = {}) =>
      router(name, routes, { addresses: [address], ...more });
    const speaksWith = (peer: string, address: string, nextHop: string, cidr: string) => ({
      sessions: [{ ...session(peer, nextHop, cidr), address }],
    });
    const racks = {
      ...ofCadastre(),
      reports: [
        report('a', speaksWith('rack1', '10.0.0.251', '10.0.0.1', '10.1.0.0/24')),
        report('b', speaksWith('rack2', '10.0.0.252', '10.0.0.2', '10.1.1.0/24')),
      ],
    };
    const first = heard('tor1', '10.0.0.251', [toA]);
    const other = (routes: RouterRoute[], more = {}) => heard('tor2', '10.0.0.252', routes, more);
    const reasons = (...routers: RouterTable[]) =>
      judge({ ...racks, routers }).map(({ reason, prefix: at }) => [reason, at]);
    expect(reasons(first)).toEqual([]);
    expect(reasons(first, other([], { families: new Set() }))).toEqual([]);
    expect(reasons(first, other([toB]))).toEqual([]);
    const ofB = (...routers: RouterTable[]) =>
      reasons(...routers).flatMap(([reason, at]) => (at === '10.1.1.0/24' ? [reason] : []));
    expect(ofB(first, other([]))).toEqual(['Blackhole', 'NotHeld']);
    // Shown without any hint whose it is: it may be the one.
    expect(ofB(first, router('dump', []))).toEqual(['Blackhole', 'NotHeld']);
  });

  test('announced by the owner, held by nobody: the blackhole and its cause are both told', () => {
    const found = judge({ ...ofCadastre(), routers: [router('tor1', [toA])] });
    expect(found.map(({ reason, node: who }) => [reason, who])).toEqual([
      ['Blackhole', 'b'],
      ['NotHeld', 'b'],
    ]);
  });

  describe('why a block is not announced', () => {
    const cidr = '10.1.1.0/24';
    const stating = (
      unannounced: ReportedUnannounced[],
      sessions = [session('tor1', '10.0.0.2')],
    ) => ({
      ...ofCadastre(),
      routers: [router('tor1', [toA])],
      reports: ofCadastre().reports.map((one) =>
        one.name === 'b' ? { ...one, status: { ...one.status, sessions, unannounced } } : one,
      ),
    });
    const noNextHop = { cidr, peer: 'tor1', reason: 'NoNextHop', detail: 'b has no address' };

    test('is told in the words of the agent, with the cure for that reason', () => {
      const found = judge(stating([noNextHop, { ...noNextHop, cidr: '10.1.9.0/24' }]));
      expect(found.map(({ reason }) => reason)).toEqual(['Blackhole', 'NotAnnounced']);
      for (const { says, fix } of found) {
        expect(says['agent of b']).toBe('NoNextHop: b has no address');
        expect(fix).toContain('give b an address of that family');
      }
    });

    test('for each router, where they differ', () => {
      const refused = { cidr, peer: 'tor2', reason: 'PeerRefused', detail: 'no password' };
      const [blackhole] = judge(stating([noNextHop, refused]));
      expect(blackhole?.says['agent of b']).toBe(
        'NoNextHop: b has no address; PeerRefused: no password',
      );
      expect(blackhole?.fix).toMatch(/give b an address.*; correct the BGPPeer/);
    });

    test('leaves the cure as it is where the reason passes by itself, or is none that we know', () => {
      const plain = judge(stating([]))[0]?.fix;
      for (const reason of ['AnnouncementPending', 'toString', 'OfANewerAgent']) {
        const [blackhole] = judge(stating([{ cidr, reason, detail: 'soon' }]));
        expect(blackhole?.says['agent of b']).toBe(`${reason}: soon`);
        expect(blackhole?.fix).toBe(plain);
      }
    });

    test('a report that holds anything else there is read over', () => {
      const broken = stating('anything' as unknown as ReportedUnannounced[]);
      expect(judge(broken)[0]?.says).not.toHaveProperty('agent of b');
    });
  });

  test('a stale route is seen in mode kubernetes too, where no pool is known', () => {
    const found = judge(withTor1(ofNodes(), toA, toB, route('10.1.200.0/24', '10.0.0.99')));
    expect(found.map(({ reason }) => reason)).toEqual(['Stale']);
  });

  test('the owner of an orphan is named when a record still knows it', () => {
    const evidence = withTor1(ofCilium(), toA, toB, route('10.1.5.0/24', '10.0.0.1'));
    const found = judge({
      ...evidence,
      ciliumNodes: [...evidence.ciliumNodes, ciliumNode('gone', '10.1.5.0/24')],
    });
    expect(found.map(({ reason, owner }) => [reason, owner])).toEqual([
      ['Orphan', 'gone'],
      ['StrandedBlock', null],
    ]);
  });
});
