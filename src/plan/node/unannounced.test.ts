import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { parsePrefix } from '../../net/prefix.ts';
import type { NodePeer } from './node-peers.ts';
import { type AnnouncingSession, type UnannouncedInput, unannouncedBlocks } from './unannounced.ts';

const v4 = '10.5.113.0/24';
const v6 = 'fd00:5::/64';

const peer = (name: string, change: Partial<NodePeer> = {}): NodePeer => ({
  name,
  address: '10.4.36.238',
  port: 179,
  asn: 64524,
  localAsn: 64513,
  routerId: '10.4.94.11',
  families: ['ipv4', 'ipv6'],
  holdSeconds: 90,
  nextHop: { ipv6: 'fd00:94::11' },
  ...change,
});

const session = (name: string, change: Partial<AnnouncingSession> = {}): AnnouncingSession => ({
  peer: name,
  state: 'Established',
  families: ['ipv4', 'ipv6'],
  advertised: new Set([v4, v6]),
  refused: {},
  ...change,
});

const input = (change: Partial<UnannouncedInput> = {}): UnannouncedInput => ({
  node: 'n1',
  owned: [v6, v4].map((text) => parsePrefix(text)!),
  contested: new Map(),
  configuredPeers: 2,
  peers: [peer('r1'), peer('r2')],
  sessions: [session('r1'), session('r2')],
  ...change,
});

const texts = (change: Partial<UnannouncedInput>) =>
  unannouncedBlocks(input(change)).map(({ cidr, peer: to, reason, detail }) =>
    [cidr, to ?? 'all', reason, detail].join(' | '),
  );

test('what is advertised to every peer needs no reason', () => {
  expect(texts({})).toEqual([]);
});

describe('each block that is not advertised has a reason', () => {
  test.each<[string, Partial<UnannouncedInput>, string[]]>([
    [
      'no peer at all',
      { peers: [], sessions: [], configuredPeers: 0 },
      [v4, v6].map((cidr) => `${cidr} | all | NoPeerSelectsNode | no BGP peer is configured`),
    ],
    [
      'peers for other nodes',
      { peers: [], sessions: [], configuredPeers: 1, owned: [parsePrefix(v4)!] },
      [`${v4} | all | NoPeerSelectsNode | none of 1 configured BGP peer selects n1 by its labels`],
    ],
    [
      'a session that is not there',
      {
        sessions: [
          session('r1'),
          session('r2', {
            state: 'Active',
            lastError: 'connection refused',
            advertised: new Set(),
          }),
        ],
        owned: [parsePrefix(v4)!],
      },
      [
        `${v4} | r2 | SessionNotEstablished | the session with r2 (10.4.36.238) is Active: connection refused`,
      ],
    ],
    [
      'a peer that is new to the speaker',
      { sessions: [session('r1')], owned: [parsePrefix(v4)!] },
      [`${v4} | r2 | SessionNotEstablished | the session with r2 (10.4.36.238) is Idle`],
    ],
    [
      'a peer that cannot be served',
      {
        peers: [peer('r1')],
        sessions: [
          session('r1', { state: 'Refused', lastError: 'no TCP-MD5', advertised: new Set() }),
        ],
        owned: [parsePrefix(v4)!],
      },
      [`${v4} | r1 | PeerRefused | peer r1 cannot be served as it is configured: no TCP-MD5`],
    ],
    [
      'a router that does not speak the family',
      {
        peers: [peer('r1')],
        sessions: [session('r1', { families: ['ipv4'], advertised: new Set([v4]) })],
      },
      [`${v6} | r1 | FamilyNotNegotiated | r1 did not agree to carry IPv6 routes`],
    ],
    [
      'a peer that is not to speak the family',
      {
        peers: [peer('r1', { families: ['ipv4'] })],
        sessions: [session('r1', { families: ['ipv4'], advertised: new Set([v4]) })],
      },
      [`${v6} | r1 | FamilyNotNegotiated | peer r1 is not configured to carry IPv6 routes`],
    ],
    [
      'a node without an address of the family',
      {
        peers: [peer('r1', { nextHop: {} })],
        sessions: [
          session('r1', { advertised: new Set([v4]), refused: { [v6]: 'no ipv6 next hop' } }),
        ],
      },
      [`${v6} | r1 | NoNextHop | n1 has no IPv6 address (InternalIP) to name to r1 as next hop`],
    ],
    [
      'a route that the speaker refuses',
      {
        peers: [peer('r1')],
        sessions: [
          session('r1', { advertised: new Set([v4]), refused: { [v6]: 'bad community' } }),
        ],
      },
      [`${v6} | r1 | AnnouncementRefused | it cannot be sent to r1: bad community`],
    ],
    [
      'an UPDATE that is under way',
      { peers: [peer('r1')], sessions: [session('r1', { advertised: new Set([v4]) })] },
      [`${v6} | r1 | AnnouncementPending | it is about to be sent to r1`],
    ],
    [
      'a node that is drained',
      { leaving: 'the node is cordoned', sessions: [session('r1', { advertised: new Set() })] },
      [v4, v6].map(
        (cidr) =>
          `${cidr} | all | NodeDraining | n1 is being drained; its routes are withdrawn: the node is cordoned`,
      ),
    ],
    [
      'a block that an older node holds',
      {
        contested: new Map([[v4, 'n0, the older node, holds it']]),
        sessions: ['r1', 'r2'].map((name) => session(name, { advertised: new Set([v6]) })),
      },
      [`${v4} | all | NotOwner | n0, the older node, holds it`],
    ],
    [
      'a kernel that has not taken the routes',
      {
        kernelProblem: 'busy',
        sessions: ['r1', 'r2'].map((name) => session(name, { advertised: new Set([v6]) })),
      },
      [`${v4} | all | KernelRoutePending | the kernel has not taken the routes of n1 yet: busy`],
    ],
  ])('%s', (_, change, expected) => {
    expect(texts(change)).toEqual(expected);
  });

  test('whatever the sessions are like', () => {
    const anySession = (name: string) =>
      fc.record({
        peer: fc.constant(name),
        state: fc.constantFrom('Idle', 'Connect', 'Established', 'Refused'),
        families: fc.subarray(['ipv4', 'ipv6']),
        advertised: fc.subarray([v4, v6]).map((list) => new Set(list)),
        refused: fc.subarray([v4, v6]).map((list) => Object.fromEntries(list.map((c) => [c, 'x']))),
      });
    fc.assert(
      fc.property(
        fc.tuple(anySession('r1'), anySession('r2')),
        fc.option(fc.constant('cordoned'), { nil: undefined }),
        fc.option(fc.constant('busy'), { nil: undefined }),
        (sessions, leaving, kernelProblem) => {
          const found = unannouncedBlocks(input({ sessions, leaving, kernelProblem }));
          for (const cidr of [v4, v6]) {
            for (const { peer: name, advertised } of sessions) {
              const said = found.filter((one) => one.cidr === cidr && one.peer === name).length;
              const forAll = found.filter((one) => one.cidr === cidr && !one.peer).length;
              if (!advertised.has(cidr)) expect(said + forAll).toBe(1);
              else expect(said).toBe(0);
            }
          }
        },
      ),
      { numRuns: runs(100) },
    );
  });
});
