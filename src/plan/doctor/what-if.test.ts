import { describe, expect, test } from 'vitest';
import {
  block,
  bothRoutes,
  ciliumNode,
  cleanWorlds,
  node,
  pool,
  prefix,
  route,
  router,
} from '../../../test/doctor/worlds.ts';
import type { ServiceAddress } from '../../model/service-address.ts';
import { parseAddress } from '../../net/address.ts';
import type { Evidence } from './evidence.ts';
import { type Action, whatIf } from './what-if.ts';
import type { WhatIf } from './what-if-answer.ts';

function ask(evidence: Evidence, action: Action): WhatIf {
  const answer = whatIf(evidence, action);
  if (answer.kind === 'unknown') throw new Error(answer.why);
  return answer.whatIf;
}

function refusal(evidence: Evidence, action: Action): string {
  const answer = whatIf(evidence, action);
  return answer.kind === 'unknown' ? answer.why : 'answered';
}

const ofCilium = cleanWorlds['cluster-pool of Cilium'];
const ofCadastre = cleanWorlds['ip-pool of Cadastre'];
const [toA, toB] = bothRoutes as [(typeof bothRoutes)[0], (typeof bothRoutes)[0]];
const drain = (...nodes: string[]): Action => ({ kind: 'drain', nodes });

describe('drain', () => {
  test.each(Object.entries(cleanWorlds))(
    'of any node of a clean cluster (%s) is safe',
    (name, world) => {
      if (name === 'kubernetes without Cilium') {
        expect(refusal(world(), drain('a'))).toContain('no router was shown');
        return;
      }
      for (const one of ['a', 'b']) expect(ask(world(), drain(one)).safe).toBe(true);
      expect(ask(world(), drain('a', 'b')).safe).toBe(true);
    },
  );

  test("the node's own block goes with it", () => {
    expect(ask(ofCilium(), drain('a')).moves).toEqual([
      {
        node: 'a',
        prefix: '10.1.0.0/24',
        from: 'tor1, tor2: via a',
        to: 'no route',
        why: 'goes with its node',
      },
    ]);
  });

  test('what enters there is lost, unless a spare path takes over', () => {
    const wrong = route('10.1.1.0/24', '10.0.0.1');
    const lost = ask({ ...ofCilium(), routers: [router('tor1', [toA, wrong])] }, drain('a'));
    expect(lost.safe).toBe(false);
    expect(lost.loses).toMatchObject([{ node: 'b', prefix: '10.1.1.0/24', alternatives: [] }]);
    const spare = { ...toB, isUsed: false };
    const kept = ask({ ...ofCilium(), routers: [router('tor1', [toA, wrong, spare])] }, drain('a'));
    expect(kept.safe).toBe(true);
    expect(kept.moves).toMatchObject([
      { node: 'a' },
      { node: 'b', from: 'tor1: via a', to: 'tor1: via b', why: 'another path is left' },
    ]);
  });

  test('a loss at one router names the way that is left at the other', () => {
    const wrong = route('10.1.1.0/24', '10.0.0.1');
    const evidence = {
      ...ofCilium(),
      routers: [router('tor1', [toA, wrong]), router('tor2', bothRoutes)],
    };
    const { loses } = ask(evidence, drain('a'));
    expect(loses).toMatchObject([{ node: 'b', alternatives: ['tor2 via b'] }]);
  });

  test('two nodes together may lose what either alone does not', () => {
    const evidence: Evidence = {
      ...ofCilium(),
      nodes: [...ofCilium().nodes, node('c', '10.0.0.3')],
      ciliumNodes: [...ofCilium().ciliumNodes, ciliumNode('c', '10.1.2.0/24')],
      routers: [
        router('tor1', [
          toA,
          toB,
          route('10.1.2.0/24', '10.0.0.1'),
          route('10.1.2.0/24', '10.0.0.2'),
        ]),
      ],
    };
    expect(ask(evidence, drain('a')).safe).toBe(true);
    expect(ask(evidence, drain('b')).safe).toBe(true);
    expect(ask(evidence, drain('a', 'b')).loses).toMatchObject([{ node: 'c' }]);
  });

  test('a larger route that leads there carries the blocks in it', () => {
    const evidence = {
      ...ofCilium(),
      routers: [router('tor1', [toA, route('10.1.0.0/23', '10.0.0.1')])],
    };
    expect(ask(evidence, drain('a')).loses).toMatchObject([{ node: 'b', prefix: '10.1.1.0/24' }]);
  });

  describe('an address of a Service', () => {
    const vip = '192.0.2.10/32';
    const address: ServiceAddress = {
      name: '192-0-2-10-32',
      uid: 'u',
      resourceVersion: '1',
      address: parseAddress('192.0.2.10')!,
      pool: 'public',
      service: 'shop/web',
      serviceUid: 's',
      createdMs: 0,
      deleting: false,
    };
    const world = (...nextHops: string[]): Evidence => ({
      ...ofCilium(),
      serviceAddresses: [address],
      loadBalancerNetworks: [prefix(vip)],
      routers: [router('tor1', [toA, toB, ...nextHops.map((hop) => route(vip, hop))])],
    });

    test('that other nodes announce too is named, and stays', () => {
      const { safe, moves } = ask(world('10.0.0.1', '10.0.0.2'), drain('a'));
      expect(safe).toBe(true);
      expect(moves[1]).toEqual({
        node: 'a',
        prefix: vip,
        from: 'tor1: via a, b',
        to: 'tor1: via b',
        why: 'address of Service shop/web: other nodes announce it',
      });
    });

    test('that nobody else announces is lost', () => {
      const { safe, loses } = ask(world('10.0.0.1'), drain('a'));
      expect(safe).toBe(false);
      expect(loses).toEqual([
        {
          node: 'a',
          prefix: vip,
          isService: true,
          why: 'address of Service shop/web: no other node announces it',
          alternatives: [],
        },
      ]);
    });

    test("of another program's pool has no name", () => {
      const evidence = { ...world('10.0.0.1', '10.0.0.2'), serviceAddresses: [] };
      expect(ask(evidence, drain('a')).moves[1]?.why).toBe(
        'address of a Service: other nodes announce it',
      );
    });

    test('and what nobody owns is still called so', () => {
      const stray = { ...world(), routers: [router('tor1', [toA, toB, route(vip, '10.0.0.1')])] };
      const evidence = { ...stray, serviceAddresses: [], loadBalancerNetworks: [] };
      expect(ask(evidence, drain('a')).moves[1]?.why).toBe('nobody owns it');
    });
  });

  test('nobody knows a node that does not exist', () => {
    expect(refusal(ofCilium(), drain('a', 'x'))).toBe('there is no node x');
  });
});

describe('lose-router', () => {
  test('is safe where another one holds everything', () => {
    const answer = ask(ofCilium(), { kind: 'lose-router', router: 'tor1' });
    expect(answer.safe).toBe(true);
    expect(answer.moves).toHaveLength(2);
  });

  test('loses what only that one holds', () => {
    const evidence = {
      ...ofCilium(),
      routers: [router('tor1', bothRoutes), router('tor2', [toA])],
    };
    const { loses } = ask(evidence, { kind: 'lose-router', router: 'tor1' });
    expect(loses).toMatchObject([{ node: 'b', prefix: '10.1.1.0/24' }]);
    expect(refusal(evidence, { kind: 'lose-router', router: 'x' })).toBe(
      'there is no router x (tor1, tor2)',
    );
  });
});

describe('add-nodes', () => {
  test('says who gets which block', () => {
    const answer = ask(ofCadastre(), { kind: 'add-nodes', count: 2, labels: { rack: '1' } });
    expect(answer.safe).toBe(true);
    expect(answer.moves.map(({ node: who, prefix: at }) => [who, at])).toEqual([
      ['new-1', '10.1.2.0/24'],
      ['new-2', '10.1.3.0/24'],
    ]);
  });

  test('takes no name that a node has already', () => {
    const world = ofCadastre();
    const named = node('new-1', '10.0.0.9', { labels: { rack: '1' } });
    const held = block('10.1.7.0/24', 'new-1', { pool: 'all', nodeUid: named.uid });
    const answer = ask(
      { ...world, nodes: [...world.nodes, named], blocks: [...world.blocks, held] },
      { kind: 'add-nodes', count: 2, labels: { rack: '1' } },
    );
    expect(answer.moves.map(({ node: who }) => who)).toEqual(['new-2', 'new-3']);
  });

  test('says who gets none, and why', () => {
    const full = { ...ofCadastre(), pools: [pool('all', ['10.1.0.0/23'], { ipv4: 24 })] };
    const answer = ask(full, { kind: 'add-nodes', count: 1, labels: {} });
    expect(answer.safe).toBe(false);
    expect(answer.refused).toMatchObject([{ node: 'new-1', reason: 'PoolExhausted' }]);
    const stranger = ask(ofCadastre(), { kind: 'add-nodes', count: 1, labels: { rack: '9' } });
    expect(stranger.refused).toMatchObject([{ reason: 'NoPoolSelectsNode' }]);
  });

  test('counts in the pool of cilium-config as well, and cannot know it in mode kubernetes', () => {
    const answer = ask(ofCilium(), { kind: 'add-nodes', count: 1, labels: {} });
    expect(answer.moves).toMatchObject([{ prefix: '10.1.2.0/24' }]);
    const evidence = cleanWorlds['kubernetes of Cilium']();
    expect(refusal(evidence, { kind: 'add-nodes', count: 1, labels: {} })).toContain(
      'no pool is known in mode kubernetes (',
    );
  });
});

describe('pools', () => {
  const withSpare = (): Evidence => ({
    ...ofCadastre(),
    pools: [...ofCadastre().pools, pool('spare', ['10.3.0.0/24'], { ipv4: 24 }, { priority: -1 })],
  });

  test('removing one that is in use says where each would go, and for whom there is no place', () => {
    const answer = ask(withSpare(), { kind: 'remove-pool', pool: 'all' });
    expect(answer.safe).toBe(false);
    expect(answer.refused).toMatchObject([{ reason: 'PoolInUse' }]);
    expect(answer.moves).toMatchObject([{ node: 'a', to: '10.3.0.0/24 of pool spare' }]);
    expect(answer.loses).toMatchObject([
      { node: 'b', why: expect.stringContaining('PoolExhausted') },
    ]);
  });

  test('removing one that nobody uses is safe', () => {
    expect(ask(withSpare(), { kind: 'remove-pool', pool: 'spare' }).safe).toBe(true);
    expect(refusal(withSpare(), { kind: 'remove-pool', pool: 'x' })).toBe(
      'there is no pool x (all, spare)',
    );
  });

  test('shrinking is safe as long as every block stays inside', () => {
    const to = (cidr: string): Action => ({ kind: 'shrink-pool', pool: 'all', to: prefix(cidr) });
    expect(ask(ofCadastre(), to('10.1.0.0/23')).safe).toBe(true);
    const tight = ask(ofCadastre(), to('10.1.0.0/24'));
    expect(tight.loses).toMatchObject([{ node: 'b', prefix: '10.1.1.0/24' }]);
    const wide = ask(ofCadastre(), to('10.1.1.0/24'));
    expect(wide.loses).toMatchObject([{ node: 'a' }]);
    expect(refusal(ofCadastre(), to('10.9.0.0/16'))).toContain('has nothing of pool all');
  });
});

describe('relabel', () => {
  const peer = (rack: string) => ({
    name: `tor-${rack}`,
    address: `10.0.0.25${rack}`,
    port: 179,
    asn: 64524,
    localAsn: 64513,
    families: ['ipv4' as const],
    holdSeconds: 90,
    gracefulRestartSeconds: 0,
    nodeSelectors: [{ matchLabels: { rack } }],
  });
  const relabel = (value: string | null): Action => ({
    kind: 'relabel',
    node: 'a',
    labels: { rack: value },
  });

  test('to a group without a pool and without a router is told for both', () => {
    const answer = ask({ ...ofCadastre(), peers: [peer('1')] }, relabel('2'));
    expect(answer.safe).toBe(false);
    expect(answer.loses).toMatchObject([
      { node: 'a', why: 'no BGP peer is for a then; today tor-1' },
    ]);
    expect(answer.refused).toMatchObject([{ reason: 'NoPoolSelectsNode' }]);
    expect(answer.moves).toMatchObject([{ from: 'pool all', to: 'no pool' }]);
  });

  test('to another group with both is safe, and says what would follow', () => {
    const evidence: Evidence = {
      ...ofCadastre(),
      peers: [peer('1'), peer('2')],
      pools: [
        ...ofCadastre().pools,
        pool(
          'two',
          ['10.3.0.0/16'],
          { ipv4: 24 },
          { nodeSelector: { matchLabels: { rack: '2' } } },
        ),
      ],
    };
    const answer = ask(evidence, relabel('2'));
    expect(answer.safe).toBe(true);
    expect(answer.moves.map(({ from, to }) => [from, to])).toEqual([
      ['tor-1', 'tor-2'],
      ['pool all', 'pool two'],
    ]);
  });

  test('that changes nothing changes nothing', () => {
    expect(ask(ofCadastre(), relabel('1'))).toMatchObject({ safe: true, moves: [], loses: [] });
  });
});

test('asking leaves no trace: the same question twice has the same answer', () => {
  const evidence = {
    ...ofCadastre(),
    blocks: [...ofCadastre().blocks, block('10.1.7.0/24', 'gone')],
  };
  const action: Action = { kind: 'remove-pool', pool: 'all' };
  expect(ask(evidence, action)).toEqual(ask(evidence, action));
});
