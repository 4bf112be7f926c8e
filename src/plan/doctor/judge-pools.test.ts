import { describe, expect, test } from 'vitest';
import { ofCadastre } from '../../../test/doctor/pairs/pair.ts';
import { block, cilium, dayMs, node, nowMs, podPool, pool } from '../../../test/doctor/worlds.ts';
import type { Evidence } from './evidence.ts';
import { judge } from './judge.ts';

describe('cilium-operator in mode multi-pool beside Cadastre', () => {
  const beside = (more: Partial<Evidence>): string[] =>
    judge({
      ...ofCadastre(),
      cilium: cilium({ ipam: 'kubernetes' }, 17),
      ciliumOperator: { runs: true, ipam: 'multi-pool' },
      ...more,
    })
      .filter(({ reason }) => reason === 'SecondAllocator')
      .map(({ severity, says }) => `${severity}: ${says['cilium-operator']}`);
  const far = podPool('far', ['10.9.0.0/16']);

  test('is a second allocator where its pools have addresses of ours', () => {
    const near = podPool('near', ['10.1.128.0/17']);
    expect(beside({ ciliumPodPools: [far, near] })).toEqual([
      'critical: runs with ipam multi-pool and gives out blocks out of 10.9.0.0/16, 10.1.128.0/17',
    ]);
    expect(beside({ ciliumPodPools: [far] })).toEqual([]);
    // In our own mode multi-pool both write the same lists.
    expect(beside({ ciliumPodPools: [far], mode: 'multi-pool' })).toHaveLength(1);
  });

  test('its pools were not to be seen: they may be ours', () => {
    expect(beside({})).toEqual(['critical: runs with ipam multi-pool and gives out blocks']);
  });
});

describe('a forecast', () => {
  const grown = (joinedDaysAgo: number[]) => {
    const names = joinedDaysAgo.map((_, at) => `n${at}`);
    return {
      ...ofCadastre(),
      pools: [pool('all', ['10.1.0.0/20'], { ipv4: 24 })],
      nodes: [
        ...ofCadastre().nodes,
        ...names.map((name, at) =>
          node(name, `10.0.1.${at + 1}`, { createdMs: nowMs - joinedDaysAgo[at]! * dayMs }),
        ),
      ],
      blocks: [
        ...ofCadastre().blocks,
        ...names.map((name, at) => block(`10.1.${at + 2}.0/24`, name)),
      ],
      routers: [],
    };
  };

  test('counts the nodes of the last thirty days', () => {
    const found = judge(grown(Array.from({ length: 10 }, (_, at) => at + 1)));
    expect(found.map(({ reason, says }) => [reason, says.forecast])).toEqual([
      ['PoolNearlyFull', 'full in 12 days, as 10 nodes joined in 30 days'],
    ]);
  });

  test('is silent about what joined long ago', () => {
    expect(judge(grown(Array.from({ length: 10 }, () => 60)))).toEqual([]);
  });
});
