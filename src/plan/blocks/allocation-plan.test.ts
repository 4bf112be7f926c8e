import { describe, expect, test } from 'vitest';
import {
  auto,
  blockObject,
  ciliumNodeObject,
  nodeObject,
  poolObject,
  registerOf,
  reportObject,
  second,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { planAllocation } from './allocation-plan.ts';
import type { Rules } from './decide-node.ts';

function plan(objects: KubeObject[], rules: Rules = auto) {
  const names = objects.filter(({ kind }) => kind === 'Node').map((o) => o.metadata?.name ?? '');
  return planAllocation(registerOf(objects), names, rules);
}
const lines = ({ nodes }: ReturnType<typeof plan>) =>
  nodes.map(({ name, blocks, refused }) =>
    [
      name,
      ...blocks.map(({ action, cidr, pool }) => `${action} ${cidr} ${pool}`),
      ...refused.map(({ family, reason }) => `${family} ${reason}`),
    ].join(', '),
  );

const pool = poolObject('p', { cidrs: ['10.0.0.0/22'] });

describe('the dry run', () => {
  test('keeps, adopts and assigns, and lists the nodes in the order given', () => {
    const result = plan([
      pool,
      nodeObject('new'),
      nodeObject('held', { podCIDRs: ['10.0.0.0/24'] }),
      nodeObject('kept'),
      blockObject('10.0.1.0/24', 'kept', { pool: 'p' }),
    ]);
    expect(lines(result)).toEqual([
      'new, assign 10.0.2.0/24 p',
      'held, adopt 10.0.0.0/24 p',
      'kept, keep 10.0.1.0/24 p',
    ]);
    expect(result).toMatchObject({
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'AllocationPlan',
      findings: [],
      pools: [{ name: 'p', capacity: 4, assigned: 3, free: 1, cooling: 0, families: ['ipv4'] }],
    });
  });

  test('the oldest node is served first, wherever it stands in the list', () => {
    const result = plan([
      pool,
      nodeObject('c', { created: 3 }),
      nodeObject('b', { created: 1 }),
      nodeObject('a', { created: 2 }),
    ]);
    expect(lines(result)).toEqual([
      'c, assign 10.0.2.0/24 p',
      'b, assign 10.0.0.0/24 p',
      'a, assign 10.0.1.0/24 p',
    ]);
  });

  test('everything held is taken over before the first new block is cut', () => {
    const result = plan([
      poolObject('p', { cidrs: ['10.0.0.0/23'] }),
      nodeObject('a', { created: 1 }),
      nodeObject('b', { created: 2, podCIDRs: ['10.0.0.0/24'] }),
      nodeObject('c', { created: 3 }),
    ]);
    expect(lines(result)).toEqual([
      'a, assign 10.0.1.0/24 p',
      'b, adopt 10.0.0.0/24 p',
      'c, ipv4 PoolExhausted',
    ]);
  });

  test('a node that comes back keeps its block, which then counts as assigned', () => {
    const result = plan([
      pool,
      nodeObject('n', { uid: 'new' }),
      blockObject('10.0.3.0/24', 'n', { pool: 'p', nodeUid: 'old', phase: 'Cooling' }),
    ]);
    expect(lines(result)).toEqual(['n, keep 10.0.3.0/24 p']);
    expect(result.pools[0]).toMatchObject({ assigned: 1, cooling: 0, free: 3 });
  });

  test('a large demand is planned to its end, not to the first portion', () => {
    const big = poolObject('p', { cidrs: ['10.0.0.0/16'], maxBlocksPerNode: 64 });
    const byDemand: Rules = { families: 'auto', byDemand: true };
    const [row] = plan([big, nodeObject('n'), reportObject('n', { ipv4: 10_000 })], byDemand).nodes;
    expect(row?.blocks).toHaveLength(40);
    expect(new Set(row?.blocks.map(({ action }) => action))).toEqual(new Set(['assign']));
  });

  test('an order that names a stranger lists only who is there', () => {
    const register = registerOf([pool, nodeObject('n')]);
    expect(planAllocation(register, ['nobody', 'n'], auto).nodes.map(({ name }) => name)).toEqual([
      'n',
    ]);
  });
});

describe('what the dry run finds', () => {
  test('pools that serve nothing, with the other’s name', () => {
    const young = poolObject('young', { cidrs: ['10.0.0.0/23'] }, { creationTimestamp: second(9) });
    expect(plan([pool, young, nodeObject('n')]).findings).toEqual([
      {
        reason: 'OverlappingPools',
        nodes: [],
        cidr: '10.0.0.0/23',
        detail: '10.0.0.0/23 of pool young overlaps 10.0.0.0/22 of pool p',
      },
    ]);
  });

  test('holders that do not exist', () => {
    const { findings } = plan([
      pool,
      ciliumNodeObject('ghost', ['10.0.0.0/24']),
      ciliumNodeObject('empty', []),
      blockObject('10.0.1.0/24', 'gone', { pool: 'p' }),
      blockObject('10.0.2.0/24', 'long-gone', { pool: 'p', phase: 'Cooling' }),
    ]);
    expect(findings.map(({ reason, nodes, cidr }) => `${reason} ${nodes} ${cidr}`)).toEqual([
      'HolderGone gone 10.0.1.0/24',
      'HolderGone ghost 10.0.0.0/24',
    ]);
  });

  test('the incident: two writers for one fact, one finding a node', () => {
    const spec = { master1: 112, master2: 114, master3: 113, node1: 115 };
    const used = { master1: 113, master2: 115, master3: 114, node1: 112 };
    const result = plan([
      poolObject('p', { cidrs: ['10.5.112.0/21'] }),
      ...Object.entries(spec).map(([name, n]) =>
        nodeObject(name, { podCIDRs: [`10.5.${n}.0/24`] }),
      ),
      ...Object.entries(used).map(([name, n]) => ciliumNodeObject(name, [`10.5.${n}.0/24`])),
      nodeObject('node2'),
    ]);
    expect(lines(result)).toEqual([
      'master1, adopt 10.5.113.0/24 p',
      'master2, adopt 10.5.115.0/24 p',
      'master3, adopt 10.5.114.0/24 p',
      'node1, adopt 10.5.112.0/24 p',
      'node2, assign 10.5.116.0/24 p',
    ]);
    expect(result.findings.map(({ reason, nodes }) => `${reason} ${nodes}`)).toEqual([
      'SourcesDisagree master1',
      'SourcesDisagree master2',
      'SourcesDisagree master3',
      'SourcesDisagree node1',
    ]);
    expect(result.findings[3]?.detail).toBe(
      'node1 has 10.5.112.0/24, but Node.spec.podCIDRs says 10.5.115.0/24',
    );
  });
});
