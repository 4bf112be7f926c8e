/**
 * cluster-pool-v2, told with the real operator and the real agent on the embedded API server: pods come
 * one by one, and the node gets blocks as long as the pool has some. It stopped at 104 pods of /28
 * blocks, and at 8 of /30, while the operator counted the gateways as room for pods.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readClusterPool } from '../src/plan/pools/cluster-pool.ts';
import { eventually, OperatorBench } from './operator/operator-bench.ts';
import { AgentMachine } from './parts/agent-machine.ts';

let bench: OperatorBench;
let machine: AgentMachine | undefined;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(async () => {
  await machine?.end();
  machine = undefined;
  await bench.end();
});

function clusterPool(cidr: string, ipv4MaskSize: number) {
  const read = readClusterPool({
    enableIpv4: true,
    enableIpv6: false,
    ipv4Cidrs: [cidr],
    ipv4MaskSize,
    ipv6Cidrs: [],
    ipv6MaskSize: 64,
    reserved: [],
    cooldownSeconds: 1,
  });
  if (read.kind === 'refused') throw new Error(read.problems.join('; '));
  return read.pool;
}

test.each([
  ['10.0.0.0/23', 28, 8, 110],
  ['10.0.0.0/26', 30, 8, 16],
])(
  '%s in blocks of /%i, %i addresses kept ready: all of %i pods get an address',
  async (cidr, size, preAllocate, pods) => {
    await bench.leader({ mode: 'cluster-pool-v2', clusterPool: clusterPool(cidr, size) });
    await bench.createNode('busy', { addresses: ['10.4.94.11'] });
    machine = await AgentMachine.start(bench.access(), 'busy', '10.4.94.11', {
      byDemand: true,
      preAllocate,
    });
    await machine.runPods(pods);
    expect(new Set(machine.addresses()).size).toBe(pods);
  },
  180_000,
);

test('a pool of four /30 is served to its last address, and its end is said', async () => {
  await bench.leader({ mode: 'cluster-pool-v2', clusterPool: clusterPool('10.0.0.0/28', 30) });
  await bench.createNode('busy', { addresses: ['10.4.94.11'] });
  const settings = { byDemand: true, preAllocate: 8 };
  machine = await AgentMachine.start(bench.access(), 'busy', '10.4.94.11', settings);
  await machine.runPods(4);
  expect(machine.addresses().sort()).toEqual(['10.0.0.10', '10.0.0.14', '10.0.0.2', '10.0.0.6']);
  const reason = await bench.whenReason('busy', 'PoolExhausted');
  expect(reason).toContain('no free ipv4 block');
  await eventually(async () => expect(await bench.blocksOf('busy')).toHaveLength(4));
}, 180_000);
