import { describe, expect, test } from 'vitest';
import {
  auto,
  blockObject,
  ciliumNodeObject,
  nodeObject,
  poolObject,
  registerOf,
  reportObject,
  texts,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { decideNode, type Rules } from './decide-node.ts';

function decide(objects: KubeObject[], rules: Rules = auto) {
  const register = registerOf(objects);
  const decision = decideNode(register, register.nodes.get('n')!, rules);
  const { keep, rebind, surplus, adopt, assign } = decision;
  return {
    keep: texts(keep),
    rebind: texts(rebind),
    surplus: texts(surplus),
    adopt: texts(adopt),
    assign: texts(assign),
  };
}

const pool = poolObject('p', { cidrs: ['10.0.0.0/16'] });
const nothing = { keep: [], rebind: [], surplus: [], adopt: [], assign: [] };
const cooling = (cidr: string, nodeUid: string, coolingSince = 0) =>
  blockObject(cidr, 'n', { pool: 'p', nodeUid, phase: 'Cooling', coolingSince });
const active = (cidr: string, created = 0) => blockObject(cidr, 'n', { pool: 'p', created });
const byDemand: Rules = { families: 'auto', byDemand: true };

describe('a node that has its block', () => {
  test('keeps it and gets nothing more', () => {
    expect(decide([pool, nodeObject('n'), active('10.0.3.0/24')])).toEqual({
      ...nothing,
      keep: ['10.0.3.0/24'],
    });
  });

  test('keeps it while it drains', () => {
    const draining = blockObject('10.0.3.0/24', 'n', { pool: 'p', phase: 'Draining' });
    expect(decide([pool, nodeObject('n'), draining]).keep).toEqual(['10.0.3.0/24']);
  });

  test('keeps it when its labels move it to another pool, and that is a finding', () => {
    const register = registerOf([
      poolObject('p', { cidrs: ['10.0.0.0/16'], labels: { rack: '83' } }),
      poolObject('q', { cidrs: ['10.1.0.0/16'], labels: { rack: '94' } }),
      active('10.0.3.0/24'),
      nodeObject('n', { labels: { rack: '94' } }),
    ]);
    const decision = decideNode(register, register.nodes.get('n')!, auto);
    expect(texts(decision.keep)).toEqual(['10.0.3.0/24']);
    expect(decision.assign).toEqual([]);
    expect(decision.findings).toEqual([
      {
        reason: 'PoolNoLongerSelects',
        nodes: ['n'],
        cidr: '10.0.3.0/24',
        detail: 'n keeps 10.0.3.0/24 of pool p, which no longer selects it, until it is drained',
      },
    ]);
  });
});

describe('a node that returns', () => {
  test('gets its cooling block back, under its new uid', () => {
    const objects = [pool, nodeObject('n', { uid: 'new' }), cooling('10.0.3.0/24', 'old')];
    expect(decide(objects)).toEqual({ ...nothing, rebind: ['10.0.3.0/24'] });
  });

  test('gets an active block of its old self back too: nobody saw it go', () => {
    const objects = [pool, nodeObject('n', { uid: 'new' }), active('10.0.3.0/24')];
    expect(decide(objects)).toEqual({ ...nothing, rebind: ['10.0.3.0/24'] });
  });

  test('of several it gets the one that cooled last', () => {
    const objects = [
      pool,
      nodeObject('n', { uid: 'new' }),
      cooling('10.0.3.0/24', 'older', 10),
      cooling('10.0.4.0/24', 'old', 20),
    ];
    expect(decide(objects).rebind).toEqual(['10.0.4.0/24']);
  });

  test('by demand it gets all of them back', () => {
    const objects = [
      pool,
      nodeObject('n', { uid: 'new' }),
      cooling('10.0.3.0/24', 'old', 10),
      cooling('10.0.4.0/24', 'old', 20),
    ];
    expect(decide(objects, byDemand).rebind).toEqual(['10.0.4.0/24', '10.0.3.0/24']);
  });

  test('to another pool it gets a new block; the old one cools on', () => {
    const objects = [
      poolObject('p', { cidrs: ['10.0.0.0/16'], labels: { rack: '83' } }),
      poolObject('q', { cidrs: ['10.1.0.0/16'], labels: { rack: '94' } }),
      nodeObject('n', { uid: 'new', labels: { rack: '94' } }),
      cooling('10.0.3.0/24', 'old'),
    ];
    expect(decide(objects)).toEqual({ ...nothing, assign: ['10.1.0.0/24'] });
  });

  test('with a record of another block it is taken at its word: that one is adopted', () => {
    const objects = [
      pool,
      nodeObject('n', { uid: 'new', podCIDRs: ['10.0.9.0/24'] }),
      cooling('10.0.3.0/24', 'old'),
    ];
    expect(decide(objects)).toEqual({ ...nothing, adopt: ['10.0.9.0/24'] });
  });

  test('with a record of all its old blocks it gets all of them, whatever its labels', () => {
    const objects = [
      poolObject('p', { cidrs: ['10.0.0.0/16'], labels: { rack: '83' } }),
      nodeObject('n', { uid: 'new' }),
      cooling('10.0.3.0/24', 'old'),
      cooling('10.0.4.0/24', 'old'),
      ciliumNodeObject('n', ['10.0.3.0/24', '10.0.4.0/24']),
    ];
    expect(decide(objects).rebind).toEqual(['10.0.3.0/24', '10.0.4.0/24']);
  });
});

describe('more blocks than a node should have', () => {
  test('two leaders cut for one node: the older one stays', () => {
    const objects = [pool, nodeObject('n'), active('10.0.4.0/24', 1), active('10.0.3.0/24', 2)];
    expect(decide(objects)).toEqual({
      ...nothing,
      keep: ['10.0.4.0/24'],
      surplus: ['10.0.3.0/24'],
    });
  });

  test('of the same second the lower one stays, for every replica alike', () => {
    const objects = [pool, nodeObject('n'), active('10.0.4.0/24'), active('10.0.3.0/24')];
    expect(decide(objects).keep).toEqual(['10.0.3.0/24']);
  });

  test('the one that a record names stays, be it the younger', () => {
    const annotations = { 'network.cilium.io/ipv4-pod-cidr': '10.0.3.0/24' };
    const objects = [
      pool,
      nodeObject('n', { annotations }),
      active('10.0.4.0/24', 1),
      active('10.0.3.0/24', 2),
    ];
    expect(decide(objects)).toEqual({
      ...nothing,
      keep: ['10.0.3.0/24'],
      surplus: ['10.0.4.0/24'],
    });
  });

  test('several that were adopted together all stay', () => {
    const objects = [
      pool,
      nodeObject('n'),
      active('10.0.4.0/24', 1),
      active('10.0.3.0/24', 2),
      ciliumNodeObject('n', ['10.0.3.0/24', '10.0.4.0/24']),
    ];
    expect(decide(objects)).toMatchObject({ keep: ['10.0.4.0/24', '10.0.3.0/24'], surplus: [] });
  });

  test('by demand there is no surplus; what is too much is given back by the node', () => {
    const objects = [pool, nodeObject('n'), active('10.0.4.0/24', 1), active('10.0.3.0/24', 2)];
    expect(decide(objects, byDemand)).toMatchObject({ surplus: [] });
  });

  test('surplus is a finding', () => {
    const register = registerOf([
      pool,
      nodeObject('n'),
      active('10.0.4.0/24', 1),
      active('10.0.3.0/24', 2),
    ]);
    const { findings } = decideNode(register, register.nodes.get('n')!, auto);
    expect(findings).toEqual([
      {
        reason: 'SurplusBlock',
        nodes: ['n'],
        cidr: '10.0.3.0/24',
        detail: 'n holds 10.0.3.0/24, more than it should; no record names it, so it is released',
      },
    ]);
  });
});

describe('a block that cools although its node is there', () => {
  test('is not the node’s any more: it gets another', () => {
    const objects = [pool, nodeObject('n'), cooling('10.0.0.0/24', 'uid-n')];
    expect(decide(objects)).toEqual({ ...nothing, assign: ['10.0.1.0/24'] });
  });

  test('comes back if a record still names it: it was let go on stale knowledge', () => {
    const objects = [
      pool,
      nodeObject('n', { podCIDRs: ['10.0.0.0/24'] }),
      cooling('10.0.0.0/24', 'uid-n'),
    ];
    expect(decide(objects)).toEqual({ ...nothing, rebind: ['10.0.0.0/24'] });
    expect(decide([...objects, active('10.0.7.0/24')])).toEqual({
      ...nothing,
      rebind: ['10.0.0.0/24'],
      surplus: ['10.0.7.0/24'],
    });
  });

  test('does not come back, nor is it adopted again, if the node’s agent gave it back', () => {
    const objects = [
      pool,
      nodeObject('n'),
      ciliumNodeObject('n', ['10.0.0.0/24', '10.0.1.0/24']),
      active('10.0.1.0/24'),
      cooling('10.0.0.0/24', 'uid-n'),
      reportObject('n', { releases: ['10.0.0.0/24'] }),
    ];
    for (const rules of [auto, byDemand]) {
      expect(decide(objects, rules)).toEqual({ ...nothing, keep: ['10.0.1.0/24'] });
    }
  });
});
