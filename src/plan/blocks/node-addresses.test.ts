import { expect, test } from 'vitest';
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

test("a pool object around a node's address is refused by that node's name", () => {
  const register = new Register([]);
  register.putNode(node('a', '10.0.0.7'));
  const read = readPool({
    metadata: { name: 'p', uid: 'p' },
    spec: { cidrs: ['10.0.0.0/8'], blockSize: { ipv4: 24 } },
  });
  if (read.kind !== 'pool') throw new Error('malformed');
  register.putPool(read.pool);
  const plan = planAllocation(register, ['a'], { families: 'auto', byDemand: false });
  expect(plan.nodes[0]?.refused).toMatchObject([{ reason: 'OverlapsNetwork' }]);
  expect(plan.nodes[0]?.refused[0]?.detail).toContain('node a');
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
