/** One node cannot stop a pool: what it claims beyond what a node may hold takes no room. */
import { describe, expect, test } from 'vitest';
import {
  at,
  auto,
  blockObject,
  ciliumNodeObject,
  claimsOf,
  nodeObject,
  pool,
  poolObject,
  put,
  registerOf,
  reportObject,
  second,
  texts,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { podAddresses } from '../pod-address/block-addresses.ts';
import { type AllocationPlan, planAllocation } from './allocation-plan.ts';
import { mostBlocksOfNode } from './claim-limits.ts';
import { decideNode, type Rules } from './decide-node.ts';

const byDemand: Rules = { families: 'auto', byDemand: true };
const annotation = (value: string, name = 'network.cilium.io/ipv4-pod-cidr') => ({
  annotations: { [name]: value },
});
const small = poolObject('p', { cidrs: ['10.5.112.0/21'] });

function plan(objects: KubeObject[], rules = auto): AllocationPlan {
  const register = registerOf(objects);
  return planAllocation(register, [...register.nodes.keys()], rules);
}
const lines = ({ nodes }: AllocationPlan) =>
  nodes.map(
    ({ name, blocks, refused }) =>
      `${name} ${[...blocks.map(({ cidr, action }) => `${action} ${cidr}`), ...refused.map(({ reason }) => reason)].join(' ')}`,
  );
const findings = ({ findings: all }: AllocationPlan) =>
  all.map(({ reason, nodes, cidr }) => `${reason} ${nodes.join('+')} ${cidr}`);

describe('a claim larger than a block of the pool', () => {
  test.each<[string, KubeObject[], string]>([
    [
      'the whole of 10.0.0.0/8, by the annotation',
      [nodeObject('bad', annotation('10.0.0.0/8'))],
      '10.0.0.0/8',
    ],
    ['a /17 around the pool', [nodeObject('bad', annotation('10.5.0.0/17'))], '10.5.0.0/17'],
    ['the pool itself', [nodeObject('bad', annotation('10.5.112.0/21'))], '10.5.112.0/21'],
    ['everything there is', [nodeObject('bad', annotation('0.0.0.0/0'))], '0.0.0.0/0'],
    [
      'by the old annotation',
      [nodeObject('bad', annotation('10.0.0.0/8', 'io.cilium.network.ipv4-pod-cidr'))],
      '10.0.0.0/8',
    ],
    ['by Node.spec', [nodeObject('bad', { podCIDRs: ['10.0.0.0/8'] })], '10.0.0.0/8'],
    ['by CiliumNode', [nodeObject('bad'), ciliumNodeObject('bad', ['10.0.0.0/8'])], '10.0.0.0/8'],
    [
      'by the NodeReport',
      [nodeObject('bad'), reportObject('bad', { uses: ['10.0.0.0/8'] })],
      '10.0.0.0/8',
    ],
  ])('is not adopted, and every other node is served: %s', (_, claiming, cidr) => {
    const result = plan([small, ...claiming, nodeObject('a'), nodeObject('b')]);
    expect(lines(result)).toEqual([
      'bad ClaimRefused',
      'a assign 10.5.112.0/24',
      'b assign 10.5.113.0/24',
    ]);
    expect(result.pools).toMatchObject([{ capacity: 8, assigned: 2, free: 6 }]);
    expect(findings(result)).toEqual([`ClaimRefused bad ${cidr}`]);
  });

  test('the finding says who, what, by which record, and what to do', () => {
    const [finding] = plan([small, nodeObject('bad', annotation('10.0.0.0/8'))]).findings;
    expect(finding?.detail).toBe(
      '10.0.0.0/8 of bad (by the annotation network.cilium.io/…-pod-cidr) is larger than a /24 block of pool p; not adopted, and kept from nobody else: correct or remove that record; if pods live there, move the node (cadastre migrate plan)',
    );
  });

  test('pods may live there all the same: what it leaves of the pool is given out first', () => {
    const objects = [small, nodeObject('bad', annotation('10.5.112.0/22'))];
    const others = ['a', 'b', 'c', 'd', 'e'].map((name) => nodeObject(name));
    expect(lines(plan([...objects, ...others])).slice(1)).toEqual([
      'a assign 10.5.116.0/24',
      'b assign 10.5.117.0/24',
      'c assign 10.5.118.0/24',
      'd assign 10.5.119.0/24',
      'e assign 10.5.112.0/24',
    ]);
  });

  test('one of a Node that does not exist keeps nothing either', () => {
    const result = plan([small, ciliumNodeObject('gone', ['10.0.0.0/8']), nodeObject('a')]);
    expect(lines(result)).toEqual(['a assign 10.5.112.0/24']);
    expect(findings(result)).toContain('ClaimRefused gone 10.0.0.0/8');
  });

  test('a larger block that is registered already stays its node’s', () => {
    const result = plan([
      small,
      blockObject('10.5.112.0/23', 'wide', { pool: 'p' }),
      nodeObject('wide', { podCIDRs: ['10.5.112.0/23'] }),
      nodeObject('a'),
    ]);
    expect(lines(result)).toEqual(['wide keep 10.5.112.0/23', 'a assign 10.5.114.0/24']);
  });

  test('one of exactly the block’s size is adopted as ever', () => {
    const result = plan([small, nodeObject('a', annotation('10.5.119.0/24')), nodeObject('b')]);
    expect(lines(result)).toEqual(['a adopt 10.5.119.0/24', 'b assign 10.5.112.0/24']);
  });
});

describe('more blocks than one node may hold', () => {
  const six = Array.from({ length: 6 }, (_, n) => `10.5.${112 + n}.0/24`);

  test('the first four stay its own; the others are free for everybody', () => {
    const result = plan([small, nodeObject('bad'), ciliumNodeObject('bad', six), nodeObject('a')]);
    expect(lines(result)).toEqual(['bad ClaimRefused', 'a assign 10.5.118.0/24']);
    expect(result.pools).toMatchObject([{ free: 3 }]);
    expect(result.findings[0]?.detail).toBe(
      '10.5.116.0/24, 10.5.117.0/24 of bad (by CiliumNode.spec.ipam.podCIDRs) is more than the 4 blocks that one node may have of pool p; not adopted, and kept from nobody else: correct that record, or raise maxBlocksPerNode of the pool',
    );
  });

  test('the pool says how many it may be', () => {
    const wide = poolObject('p', { cidrs: ['10.5.112.0/21'], maxBlocksPerNode: 6 });
    const register = registerOf([wide, nodeObject('n'), ciliumNodeObject('n', six)]);
    expect(texts(decideNode(register, register.nodes.get('n')!, auto).adopt)).toEqual(six);
  });

  test('what is registered counts, and many small pieces count by the block they lie in', () => {
    const register = registerOf([
      poolObject('p', { cidrs: ['10.5.112.0/21'], maxBlocksPerNode: 2 }),
      nodeObject('n'),
      blockObject('10.5.112.0/24', 'n', { pool: 'p' }),
      reportObject('n', { uses: ['10.5.113.0/26', '10.5.113.64/26', '10.5.114.0/32'] }),
    ]);
    const decision = decideNode(register, register.nodes.get('n')!, auto);
    expect(texts(decision.adopt)).toEqual(['10.5.113.0/26', '10.5.113.64/26']);
    expect(decision.refused.map(({ detail }) => detail.split(' (', 1)[0])).toEqual([
      '10.5.114.0/32 of n',
    ]);
  });

  test('less trusted records count too, and the report of a Node that is gone', () => {
    const register = registerOf([
      poolObject('p', { cidrs: ['10.5.112.0/21'], maxBlocksPerNode: 1 }),
      nodeObject('n', { podCIDRs: ['10.5.113.0/24'] }),
      ciliumNodeObject('n', ['10.5.112.0/24']),
      reportObject('gone', { uses: ['10.5.114.0/24', '10.5.115.0/24'] }),
    ]);
    expect(claimsOf(register)).toEqual(['10.5.112.0/24 node/n', '10.5.114.0/24 shadow/gone']);
  });

  test('a hundred thousand records cost no more than a few thousand', () => {
    const many = Array.from({ length: 100_000 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`);
    const result = plan([
      poolObject('p', { cidrs: ['10.0.0.0/8'] }),
      nodeObject('bad'),
      ciliumNodeObject('bad', many),
      nodeObject('a'),
    ]);
    expect(lines(result)[1]).toBe('a assign 10.0.20.0/24');
    expect(result.findings.at(-1)?.detail).toContain('… and 95904 more');
  });

  test('nor is a node given more, whatever it asks for', () => {
    const result = plan(
      [
        poolObject('p', { cidrs: ['10.5.0.0/16'] }),
        nodeObject('greedy'),
        reportObject('greedy', { ipv4: 1e9 }),
        nodeObject('a'),
      ],
      byDemand,
    );
    expect(result.pools).toMatchObject([{ assigned: 18 }]);
    expect(result.nodes[0]?.refused).toMatchObject([
      {
        reason: 'BlockLimitReached',
        detail:
          'the node holds 17 ipv4 blocks of pool p, as many as one node may (maxBlocksPerNode)',
      },
    ]);
  });
});

describe('how many blocks one node may hold', () => {
  test.each([
    [24, false, 4],
    [24, true, 17],
    [28, true, 316],
    [30, true, 4096],
    [32, true, 4096],
    [16, true, 16],
  ])('of /%i, by demand %s: %i', (size, isByDemand, most) => {
    const one = pool('p', { cidrs: ['10.0.0.0/8'], size });
    expect(mostBlocksOfNode(one, 'ipv4', isByDemand)).toBe(most);
  });

  test('by demand always enough for 4096 pods', () => {
    for (let size = 65; size <= 128; size++) {
      const one = pool('p', { cidrs: ['fd00::/64'], size6: size });
      const usable = podAddresses(at(`fd00::/${size}`));
      const most = BigInt(mostBlocksOfNode(one, 'ipv6', true));
      expect(most * usable).toBeGreaterThanOrEqual(4096n);
    }
  });
});

test('a pool that comes or changes judges the claims again', () => {
  const register = registerOf([nodeObject('n', annotation('10.5.112.0/23'))]);
  expect(claimsOf(register)).toEqual(['10.5.112.0/23 node/n']);
  put(register, small);
  expect(claimsOf(register)).toEqual([]);
  register.putPool(pool('p', { cidrs: ['10.5.112.0/21'], size: 23 }));
  expect(claimsOf(register)).toEqual(['10.5.112.0/23 node/n']);
});

describe('of pools that overlap each other the oldest judges', () => {
  const born = (at: number) => ({ creationTimestamp: second(at) });
  const refused = (objects: KubeObject[]) =>
    registerOf(objects)
      .claimsOf('n')
      .refused.map((claim) => `${claim.prefix} ${claim.pool.name} ${claim.because}`);
  const claim = (cidr: string) => [nodeObject('n'), ciliumNodeObject('n', [cidr])];

  test('a claim around them, whichever came first', () => {
    const young = poolObject('a', { cidrs: ['10.0.0.0/22'] }, born(2));
    const old = poolObject('b', { cidrs: ['10.0.0.0/22'] }, born(1));
    for (const pools of [
      [young, old],
      [old, young],
    ]) {
      expect(refused([...claim('10.0.0.0/20'), ...pools])).toEqual(['10.0.0.0/20 b size']);
    }
  });

  test('and one that was deleted and made again is no longer the oldest', () => {
    const spec = { cidrs: ['10.0.0.0/22'], size: 26 };
    const other = poolObject('b', { cidrs: ['10.0.0.0/22'] }, born(2));
    const before = [...claim('10.0.0.0/24'), other, poolObject('a', spec, born(1))];
    expect(refused(before)).toEqual(['10.0.0.0/24 a size']);
    expect(refused([...before, poolObject('a', spec, { ...born(3), uid: 'new' })])).toEqual([]);
  });

  test('one that takes over a registered block leaves room for a claim in the other', () => {
    const spec = { cidrs: ['10.0.0.0/22', '10.0.8.0/22'], maxBlocksPerNode: 1 };
    const before = [
      poolObject('p', spec, born(2)),
      ...claim('10.0.8.0/24'),
      blockObject('10.0.0.0/24', 'n'),
    ];
    expect(refused(before)).toEqual(['10.0.8.0/24 p count']);
    expect(refused([...before, poolObject('q', { cidrs: ['10.0.0.0/22'] }, born(1))])).toEqual([]);
  });
});

test('an exhausted pool names who takes its room without a NodeBlock', () => {
  const tiny = poolObject('p', { cidrs: ['10.5.112.0/22'] });
  const { nodes } = plan([
    tiny,
    nodeObject('x', { podCIDRs: ['10.5.112.0/24'], created: 1 }),
    nodeObject('y', { podCIDRs: ['10.5.112.0/24'], ...annotation('10.5.113.0/24'), created: 2 }),
    nodeObject('z', { addresses: ['10.5.114.1'], created: 3 }),
    nodeObject('last', { created: 4 }),
  ]);
  expect(nodes.at(-1)?.refused).toEqual([
    {
      family: 'ipv4',
      reason: 'PoolExhausted',
      detail:
        'pool p has no free ipv4 block; records of y claim blocks of it; addresses of z lie in it',
    },
  ]);
});
