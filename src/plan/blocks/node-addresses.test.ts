import { expect, test } from 'vitest';
import {
  auto,
  claimsOf,
  nodeObject,
  pool,
  poolObject,
  registerOf,
} from '../../../test/register/objects.ts';
import { readPool } from '../../model/ip-pool.ts';
import { readNode } from '../../model/node.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { readClusterPool } from '../pools/cluster-pool.ts';
import { poolUsage, totalUsage } from '../pools/pool-status.ts';
import { planAllocation } from './allocation-plan.ts';
import { Register } from './register.ts';

const node = (name: string, address: string) =>
  readNode({
    metadata: { name, uid: name },
    status: { addresses: [{ type: 'InternalIP', address }] },
  });

test('the range in the flags may lie around the nodes; only the blocks with their addresses are left out', () => {
  const read = readClusterPool({
    enableIpv4: true,
    enableIpv6: false,
    ipv4Cidrs: ['10.0.0.0/8'],
    ipv4MaskSize: 24,
    ipv6Cidrs: [],
    ipv6MaskSize: 112,
    reserved: [],
    cooldownSeconds: 0,
  });
  if (read.kind !== 'pool') throw new Error('refused');
  const register = new Register([]);
  register.putPool(read.pool);
  register.putNode(node('a', '10.0.0.7'));
  register.putNode(node('b', '10.0.2.7'));
  const plan = planAllocation(register, ['a', 'b'], {
    families: new Set(['ipv4']),
    byDemand: false,
  });
  expect(plan.nodes.map(({ blocks }) => blocks.map(({ cidr }) => cidr))).toEqual([
    ['10.0.1.0/24'],
    ['10.0.3.0/24'],
  ]);
  register.removeNode('b');
  expect(register.claims.isFree(parsePrefix('10.0.2.0/24')!)).toBe(true);
});

test("a node's address inside a pool object takes the block around it, and nothing else of the pool", () => {
  const register = registerOf([
    poolObject('p', { cidrs: ['10.4.0.0/22', 'fd04::/62'] }),
    nodeObject('a', { addresses: ['10.4.0.7', 'fd04::1', 'not an address'] }),
    nodeObject('b'),
  ]);
  expect(register.poolSet.problem('p')).toBeUndefined();
  const plan = planAllocation(register, ['a', 'b'], auto);
  expect(plan.nodes).toMatchObject([
    { blocks: [{ cidr: '10.4.1.0/24' }, { cidr: 'fd04:0:0:1::/64' }], refused: [] },
    { blocks: [{ cidr: '10.4.2.0/24' }, { cidr: 'fd04:0:0:2::/64' }], refused: [] },
  ]);
  expect(plan.pools).toMatchObject([{ free: 1 }]);
  expect(plan.findings).toMatchObject([
    {
      reason: 'OverlapsNetwork',
      nodes: ['a'],
      cidr: '10.4.0.0/24',
      detail:
        'address 10.4.0.7 of a lies in pool p: the block around it, 10.4.0.0/24, is given to no node; reserve it in the pool, or take it out of its cidrs',
    },
    { reason: 'OverlapsNetwork', nodes: ['a'], cidr: 'fd04::/64' },
  ]);
});

test('it is found whether the pool or the node came first, and ends with either', () => {
  const register = registerOf([nodeObject('a', { addresses: ['10.4.0.7'] })]);
  register.putPool(pool('p', { cidrs: ['10.4.0.0/22'] }));
  expect(claimsOf(register)).toEqual(['10.4.0.7/32 address/a']);
  register.removePool('p');
  expect(claimsOf(register)).toEqual([]);
  register.putPool(pool('p', { cidrs: ['10.4.0.0/22'] }));
  register.removeNode('a');
  expect(claimsOf(register)).toEqual([]);
});

test('an address in a range that the pool reserves is in order', () => {
  const reserving = poolObject('p', { cidrs: ['10.4.0.0/22'], reserved: ['10.4.0.0/28'] });
  const register = registerOf([reserving, nodeObject('a', { addresses: ['10.4.0.7'] })]);
  expect(planAllocation(register, ['a'], auto).findings).toEqual([]);
});

test('a node that lists a thousand addresses keeps no more blocks from others than it may hold', () => {
  const register = registerOf([
    poolObject('p', { cidrs: ['10.4.0.0/16'] }),
    nodeObject('a', { addresses: Array.from({ length: 1000 }, (_, n) => `10.4.${n % 256}.7`) }),
    nodeObject('b'),
  ]);
  const plan = planAllocation(register, ['a', 'b'], auto);
  // After the four that are kept, blocks that nobody claims, even in vain, come first.
  expect(plan.nodes.map(({ blocks }) => blocks.map(({ cidr }) => cidr))).toEqual([
    ['10.4.20.0/24'],
    ['10.4.21.0/24'],
  ]);
  expect(plan.pools).toMatchObject([{ capacity: 256, free: 256 - 4 - 2 }]);
  expect(plan.findings.map(({ reason, nodes }) => `${reason} ${nodes}`)).toEqual([
    ...Array(4).fill('OverlapsNetwork a'),
    'ClaimRefused a',
  ]);
});

test('a pool of both families shows the figures of the one that runs out first', () => {
  const read = readPool({
    metadata: { name: 'p', uid: 'p' },
    spec: { cidrs: ['10.0.0.0/22', 'fd00::/48'], blockSize: { ipv4: 24, ipv6: 64 } },
  });
  if (read.kind !== 'pool') throw new Error('malformed');
  const register = new Register([]);
  register.putPool(read.pool);
  const usage = totalUsage(read.pool, poolUsage(register, read.pool));
  expect(usage).toEqual({ capacity: 4, assigned: 0, free: 4, cooling: 0, awaitingRelease: 0 });
});
