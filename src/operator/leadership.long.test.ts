/** Who leads, and what becomes of blocks while that changes: nothing is doubled, nothing is lost. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type BenchOperator,
  eventually,
  OperatorBench,
  shortLease,
} from '../../test/operator/operator-bench.ts';
import type { BlockObject } from '../../test/world/objects.ts';
import { nodeBlocks } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/16'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 0,
  });
});
afterEach(() => bench.end());

const names = (count: number, prefix = 'n') =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`);

/** Every node has exactly one block, and no block has two nodes. */
async function everyNodeHasOne(nodeNames: readonly string[]): Promise<void> {
  await eventually(async () => {
    const blocks = await bench.list<BlockObject>(nodeBlocks);
    const owners = blocks.map(({ spec }) => spec.node?.name).sort();
    expect(owners).toEqual([...nodeNames].sort());
    expect(new Set(blocks.map(({ spec }) => spec.cidr)).size).toBe(blocks.length);
  });
}

test('a leader that stops gives the lease back, and the one that stood by goes on', async () => {
  const first = await bench.leader();
  const second = bench.operator();
  await eventually(() => expect(second.operator.isSynced).toBe(true));
  expect(second.operator.isLeader).toBe(false);
  await bench.createNode('before');
  await everyNodeHasOne(['before']);
  await first.stop();
  await second.whenAllocating();
  await bench.createNode('after');
  await everyNodeHasOne(['before', 'after']);
  expect([first.decided('Assigned').length, second.decided('Assigned').length]).toEqual([1, 1]);
  expect(second.decided('Adopted')).toEqual([]);
});

test('a leader that loses its lease in the middle of its writes doubles nothing', async () => {
  await bench.createNodes(...names(20));
  // Its first block is created and the answer hangs; the creates behind it hang on the way there.
  let isCut = false;
  const proxy = await bench.proxy({
    spare: (method, path) => {
      const isCreate = method === 'POST' && /\/nodeblocks\b/.test(path);
      if (isCreate && !isCut) proxy.freeze();
      isCut ||= isCreate;
      return false;
    },
  });
  const cutOff = await bench.leader({ lease: shortLease }, proxy);
  const other = await bench.leader({ lease: shortLease });
  await everyNodeHasOne(names(20));
  expect(cutOff.operator.isLeader).toBe(false);
  // What only a leader finds is no longer counted by who does not lead.
  expect(cutOff.metric('cadastre_pool_blocks_capacity')).toBe(0);
  proxy.thaw();
  // What hung arrives now. Each create is refused, or finds its own block; one too many is given back.
  await bench.createNodes(...names(5, 'late'));
  await eventually(() => expect(cutOff.operator.register.nodes.has('late4')).toBe(true));
  await everyNodeHasOne([...names(20), ...names(5, 'late')]);
  expect(other.decided('Assigned').length).toBeGreaterThanOrEqual(5);
});

test('a leader that dies while it adopts is followed by one that adopts the rest, and only then cuts', async () => {
  const held = (at: number) => `10.1.${at + 100}.0/24`;
  for (const name of names(30)) {
    await bench.createNode(name, { podCIDRs: [held(Number(name.slice(1)))] });
  }
  await bench.createNodes(...names(5, 'new'));
  const first = bench.operator({ lease: shortLease, concurrency: 2 });
  let created = 0;
  const died = new Promise<void>((resolve) => {
    bench.onWrite = ({ resource }) => {
      if (resource !== 'nodeblocks') return;
      created += 1;
      if (created === 10) void first.crash().then(resolve);
    };
  });
  await died;
  expect((await bench.blocks()).length).toBeLessThan(15);
  expect(first.decided('Assigned')).toEqual([]);
  const second = await bench.leader({ lease: shortLease });
  await everyNodeHasOne([...names(30), ...names(5, 'new')]);
  for (const name of names(30)) {
    expect(await bench.blocksOf(name)).toEqual([`${held(Number(name.slice(1)))} Active`]);
  }
  const order = second.logged(({ reason }) => reason === 'Adopted' || reason === 'Assigned');
  expect(order.map(({ reason }) => reason)).toEqual([
    ...Array(order.length - 5).fill('Adopted'),
    ...Array(5).fill('Assigned'),
  ]);
});

test('two that both believe to lead never give one block to two nodes', async () => {
  // Leases of different names: neither ever hears of the other.
  const leaders: BenchOperator[] = [];
  for (const name of ['one', 'other']) {
    leaders.push(await bench.leader({ lease: { ...shortLease, name } }));
  }
  await Promise.all(names(40).map((name) => bench.createNode(name)));
  await everyNodeHasOne(names(40));
  const assigned = leaders.flatMap((leader) => leader.decided('Assigned'));
  expect(assigned.length).toBeGreaterThanOrEqual(40);
});
