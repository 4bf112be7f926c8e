import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  at,
  blockObject,
  nodeObject,
  poolObject,
  registerOf,
  reportObject,
  texts,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { decideNode, type Rules } from './decide-node.ts';
import { coversDemand, neededAddresses } from './demand.ts';

describe('how many addresses a node needs', () => {
  test('is a multiple of what it keeps ready, covers both, and is less than one more too much', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000 }), fc.integer({ min: 1, max: 256 }), (inUse, ready) => {
        const needed = neededAddresses(inUse, ready);
        expect(needed % ready).toBe(0);
        expect(needed).toBeGreaterThanOrEqual(inUse + ready);
        expect(needed - ready).toBeLessThan(inUse + ready);
      }),
    );
  });

  test('is what it uses where nothing is kept ready', () => {
    expect(neededAddresses(7, 0)).toBe(7);
  });
});

describe('whether blocks cover a demand', () => {
  const held = ['10.0.0.0/30', '10.0.0.8/30', 'fd00::/64'].map((cidr) => ({ prefix: at(cidr) }));

  test('network, gateway and broadcast addresses do not count', () => {
    expect(coversDemand(held, 'ipv4', 2)).toBe(true);
    expect(coversDemand(held, 'ipv4', 3)).toBe(false);
  });

  test('an IPv6 block covers more than a double can count', () => {
    expect(coversDemand(held, 'ipv6', Number.MAX_SAFE_INTEGER)).toBe(true);
  });

  test('without any block nothing is covered, not even no demand', () => {
    expect(coversDemand([], 'ipv4', 0)).toBe(false);
    expect(coversDemand([{ prefix: at('fd00::/64') }], 'ipv4', 0)).toBe(false);
  });
});

describe('cluster-pool-v2', () => {
  const byDemand: Rules = { families: 'auto', byDemand: true };
  const assigned = (objects: KubeObject[], rules = byDemand) => {
    const register = registerOf(objects);
    const { assign, refused } = decideNode(register, register.nodes.get('n')!, rules);
    return [...texts(assign), ...refused.map(({ reason }) => reason)];
  };
  const pool = poolObject('p', { cidrs: ['10.0.0.0/16'] });

  test('a node that says nothing gets one block', () => {
    expect(assigned([pool, nodeObject('n')])).toEqual(['10.0.0.0/24']);
  });

  test('a node gets as many as its report asks for', () => {
    const report = (ipv4: number) => reportObject('n', { ipv4 });
    expect(assigned([pool, nodeObject('n'), report(253)])).toEqual(['10.0.0.0/24']);
    expect(assigned([pool, nodeObject('n'), report(254)])).toEqual(['10.0.0.0/24', '10.0.1.0/24']);
    const one = blockObject('10.0.0.0/24', 'n', { pool: 'p' });
    expect(assigned([pool, nodeObject('n'), one, report(600)])).toEqual([
      '10.0.1.0/24',
      '10.0.2.0/24',
    ]);
  });

  test('a report of an earlier incarnation asks for nothing', () => {
    const report = reportObject('n', { nodeUid: 'before', ipv4: 1000 });
    expect(assigned([pool, nodeObject('n'), report])).toEqual(['10.0.0.0/24']);
  });

  test('only the family that lacks addresses grows', () => {
    const dual = poolObject('p', { cidrs: ['10.0.0.0/16', 'fd00::/48'] });
    expect(assigned([dual, nodeObject('n'), reportObject('n', { ipv4: 300, ipv6: 10 })])).toEqual([
      '10.0.0.0/24',
      'fd00::/64',
      '10.0.1.0/24',
    ]);
  });

  test('a pool that runs out gives what it has, and the rest is refused', () => {
    const small = poolObject('p', { cidrs: ['10.0.0.0/23'] });
    expect(assigned([small, nodeObject('n'), reportObject('n', { ipv4: 1000 })])).toEqual([
      '10.0.0.0/24',
      '10.0.1.0/24',
      'PoolExhausted',
    ]);
  });

  test('one node’s appetite is served sixteen blocks at a time', () => {
    expect(assigned([pool, nodeObject('n'), reportObject('n', { ipv4: 60_000 })])).toHaveLength(16);
  });

  test('a draining block takes no new pods, so it covers no demand', () => {
    const draining = blockObject('10.0.0.0/24', 'n', { pool: 'p', phase: 'Draining' });
    expect(assigned([pool, nodeObject('n'), draining])).toEqual(['10.0.1.0/24']);
    const oneBlock: Rules = { families: 'auto', byDemand: false };
    expect(assigned([pool, nodeObject('n'), draining], oneBlock)).toEqual(['10.0.1.0/24']);
  });
});
