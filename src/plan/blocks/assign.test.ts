import { describe, expect, test } from 'vitest';
import {
  auto,
  blockObject,
  ciliumNodeObject,
  nodeObject,
  poolObject,
  registerOf,
  second,
  texts,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { decideNode, type NodeDecision, type Rules } from './decide-node.ts';

function decide(objects: KubeObject[], name = 'n', rules: Rules = auto): NodeDecision {
  const register = registerOf(objects);
  return decideNode(register, register.nodes.get(name)!, rules);
}
const cuts = ({ assign }: NodeDecision) => assign.map(({ prefix, pool }) => `${prefix} ${pool}`);
const reasons = ({ refused }: NodeDecision) =>
  refused.map(({ family, reason, detail }) => `${family} ${reason}: ${detail}`);

describe('which pool', () => {
  test('a node gets the lowest free block of the best pool that selects it', () => {
    const decision = decide([
      poolObject('all', { cidrs: ['10.0.0.0/16'] }),
      poolObject('rack-83', { cidrs: ['10.83.0.0/16'], labels: { rack: '83' } }),
      blockObject('10.83.0.0/24', 'other', { pool: 'rack-83' }),
      nodeObject('n', { labels: { rack: '83' } }),
      nodeObject('other'),
    ]);
    expect(cuts(decision)).toEqual(['10.83.1.0/24 rack-83']);
    expect(decision.refused).toEqual([]);
  });

  test('a full pool falls through to the next', () => {
    const decision = decide([
      poolObject('best', { cidrs: ['10.1.0.0/24'], priority: 5 }),
      poolObject('next', { cidrs: ['10.2.0.0/24'] }),
      blockObject('10.1.0.0/24', 'other', { pool: 'best' }),
      nodeObject('n'),
    ]);
    expect(cuts(decision)).toEqual(['10.2.0.0/24 next']);
  });

  test('within a pool the next CIDR serves when one is used up', () => {
    const decision = decide([
      poolObject('p', { cidrs: ['10.9.0.0/24', '10.1.0.0/24'] }),
      blockObject('10.9.0.0/24', 'other'),
      nodeObject('n'),
    ]);
    expect(cuts(decision)).toEqual(['10.1.0.0/24 p']);
  });

  test('disabled pools and pools that are being deleted cut nothing new', () => {
    const deleted = { deletionTimestamp: second(1), finalizers: ['x'] };
    const decision = decide([
      poolObject('a', { cidrs: ['10.1.0.0/16'], disabled: true }),
      poolObject('b', { cidrs: ['10.2.0.0/16'] }, deleted),
      nodeObject('n'),
    ]);
    expect(reasons(decision)).toEqual([
      'ipv4 PoolDisabled: pool a is disabled; pool b is being deleted',
    ]);
  });

  test('a pool that overlaps an older one cuts nothing and says whom it overlaps', () => {
    const decision = decide([
      poolObject('old', { cidrs: ['10.0.0.0/16'], labels: { rack: 'x' } }),
      poolObject('young', { cidrs: ['10.0.0.0/20'] }, { creationTimestamp: second(9) }),
      nodeObject('n'),
    ]);
    expect(reasons(decision)).toEqual([
      'ipv4 OverlappingPools: 10.0.0.0/20 of pool young overlaps 10.0.0.0/16 of pool old',
    ]);
  });

  test('reserved ranges and what anybody holds by any record are left out', () => {
    const decision = decide([
      poolObject('p', { cidrs: ['10.0.0.0/22'], reserved: ['10.0.0.128/25'] }),
      nodeObject('n'),
      nodeObject('a', { podCIDRs: ['10.0.1.0/24'] }),
      ciliumNodeObject('gone', ['10.0.2.0/26']),
    ]);
    expect(cuts(decision)).toEqual(['10.0.3.0/24 p']);
  });
});

describe('both families, or nothing of a pool that has both', () => {
  const dual = (more = {}) =>
    poolObject('dual', { cidrs: ['10.1.0.0/24', 'fd00:1::/64'], priority: 9, ...more });

  test('a node gets both', () => {
    expect(cuts(decide([dual(), nodeObject('n')]))).toEqual([
      '10.1.0.0/24 dual',
      'fd00:1::/64 dual',
    ]);
  });

  test('with one family full it gets neither, and both refusals say which was full', () => {
    const decision = decide([
      dual(),
      blockObject('fd00:1::/64', 'other', { pool: 'dual' }),
      nodeObject('n'),
    ]);
    expect(cuts(decision)).toEqual([]);
    expect(reasons(decision)).toEqual([
      'ipv4 PoolExhausted: pool dual has no free ipv6 block',
      'ipv6 PoolExhausted: pool dual has no free ipv6 block',
    ]);
  });

  test('then pools of one family each may serve it together', () => {
    const decision = decide([
      dual(),
      blockObject('fd00:1::/64', 'other', { pool: 'dual' }),
      poolObject('four', { cidrs: ['10.2.0.0/24'] }),
      poolObject('six', { cidrs: ['fd00:2::/64'] }),
      nodeObject('n'),
    ]);
    expect(cuts(decision)).toEqual(['10.2.0.0/24 four', 'fd00:2::/64 six']);
  });

  test('a node that has one family from elsewhere gets nothing of it', () => {
    const decision = decide([
      dual({ labels: { rack: '83' } }),
      poolObject('four', { cidrs: ['10.2.0.0/24'] }),
      blockObject('10.2.0.0/24', 'n', { pool: 'four' }),
      nodeObject('n', { labels: { rack: '83' } }),
    ]);
    expect(reasons(decision)).toEqual([
      'ipv6 FamilyNotServed: pool dual serves both families or none, and the node has its ipv4 from elsewhere',
    ]);
  });

  test('a node that has one family of this very pool gets the other, even if the name changed', () => {
    for (const pool of ['dual', 'cluster-pool']) {
      const decision = decide([
        dual({ cidrs: ['10.1.0.0/16', 'fd00:1::/48'] }),
        blockObject('10.1.0.0/24', 'n', { pool }),
        nodeObject('n'),
      ]);
      expect(cuts(decision)).toEqual(['fd00:1::/64 dual']);
    }
  });

  test('where only IPv4 is served, the other half of the pool does not matter', () => {
    const rules: Rules = { families: new Set(['ipv4']), byDemand: false };
    const taken = blockObject('fd00:1::/64', 'other', { pool: 'dual' });
    expect(cuts(decide([dual(), taken, nodeObject('n')], 'n', rules))).toEqual([
      '10.1.0.0/24 dual',
    ]);
  });
});

describe('why not', () => {
  test('no pool selects the node: its labels are said', () => {
    const pools = [
      poolObject('p', { cidrs: ['10.0.0.0/16', 'fd00::/48'], labels: { rack: '83' } }),
    ];
    expect(reasons(decide([...pools, nodeObject('n', { labels: { rack: '94' } })]))).toEqual([
      'ipv4 NoPoolSelectsNode: no pool selects n with labels rack=94',
      'ipv6 NoPoolSelectsNode: no pool selects n with labels rack=94',
    ]);
    expect(reasons(decide([...pools, nodeObject('n')]))[0]).toBe(
      'ipv4 NoPoolSelectsNode: no pool selects n, which has no labels',
    );
    expect(reasons(decide([nodeObject('n')]))).toEqual([
      'ipv4 NoPoolSelectsNode: no pool selects n, which has no labels',
    ]);
  });

  test('every pool that selects it is full: each is named', () => {
    const decision = decide([
      poolObject('a', { cidrs: ['10.1.0.0/24'] }),
      poolObject('b', { cidrs: ['10.2.0.0/24'] }),
      blockObject('10.1.0.0/24', 'x', { pool: 'a' }),
      blockObject('10.2.0.0/24', 'y', { pool: 'b' }),
      nodeObject('n'),
    ]);
    expect(reasons(decision)).toEqual([
      'ipv4 PoolExhausted: pool a has no free ipv4 block; pool b has no free ipv4 block',
    ]);
  });

  test('the family is on, but no pool that selects the node has it', () => {
    const rules: Rules = { families: new Set(['ipv4', 'ipv6']), byDemand: false };
    const decision = decide(
      [poolObject('p', { cidrs: ['10.0.0.0/16'] }), nodeObject('n')],
      'n',
      rules,
    );
    expect(cuts(decision)).toEqual(['10.0.0.0/24 p']);
    expect(reasons(decision)).toEqual([
      'ipv6 FamilyNotServed: the pools that select n (p) have no ipv6 CIDR',
    ]);
  });

  test('full comes before disabled: it is cured soonest', () => {
    const decision = decide([
      poolObject('a', { cidrs: ['10.1.0.0/24'], disabled: true }),
      poolObject('b', { cidrs: ['10.2.0.0/24'] }),
      blockObject('10.2.0.0/24', 'y', { pool: 'b' }),
      nodeObject('n'),
    ]);
    expect(decision.refused[0]?.reason).toBe('PoolExhausted');
  });

  test('deciding leaves no trace in the register', () => {
    const register = registerOf([
      poolObject('p', { cidrs: ['10.0.0.0/16', 'fd00::/48'] }),
      nodeObject('n'),
      nodeObject('m'),
    ]);
    const first = decideNode(register, register.nodes.get('n')!, auto);
    const second = decideNode(register, register.nodes.get('m')!, auto);
    expect(texts(first.assign)).toEqual(texts(second.assign));
    expect([...register.claims.entries()]).toEqual([]);
  });

  test('a pool of 2^32 blocks costs nothing to ask', () => {
    const decision = decide([
      poolObject('huge', { cidrs: ['fd00::/32'], size6: 64 }),
      blockObject('fd00::/64', 'x', { pool: 'huge' }),
      nodeObject('n'),
    ]);
    expect(cuts(decision)).toEqual(['fd00:0:0:1::/64 huge']);
  });
});
