/** An API server that refuses, and one that does as asked and never says so. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import type { Faults } from '../../test/parts/fault-proxy.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/20', 'fd00:1::/60'],
    blockSize: { ipv4: 24, ipv6: 64 },
    cooldownSeconds: 0,
  });
});
afterEach(() => bench.end());

const names = ['a', 'b', 'c', 'd'];

/** Every node has one block of each family, and there is no other block. */
async function everyoneHasBoth(): Promise<void> {
  await eventually(async () => {
    for (const name of names) expect(await bench.blocksOf(name)).toHaveLength(2);
    expect(await bench.blocks()).toHaveLength(2 * names.length);
  });
}

describe('writes of blocks', () => {
  const faulty: Array<[string, Partial<Faults>]> = [
    ['are done, and the answer is lost', { closeAfterWrite: 0.3 }],
    ['are done, and the answer says otherwise', { errorAfterWrite: 0.3 }],
    ['are refused, or the connection is', { errorBefore: 0.15, closeBefore: 0.15 }],
    ['are refused as conflicts', { conflict: 0.3 }],
  ];
  test.each(faulty)('that %s: nobody gets two, and everybody gets one', async (_, faults) => {
    const proxy = await bench.proxy({
      faults,
      spare: (method, path) => method === 'GET' || !path.includes('/nodeblocks'),
    });
    await bench.leader({}, proxy);
    await bench.createNodes(...names);
    await everyoneHasBoth();
    // Leaving is no different: cooled and freed, whatever becomes of the answers.
    await bench.retireNode('a');
    await eventually(async () => expect(await bench.blocks()).toHaveLength(2 * names.length - 2));
    const struck = Object.values(proxy.counts).reduce((sum, count) => sum + count, 0);
    expect(struck).toBeGreaterThan(1);
  });
});

test('projections and statuses whose outcome is unknown are looked up, not written twice for ever', async () => {
  const proxy = await bench.proxy({
    faults: { closeAfterWrite: 0.5 },
    spare: (method, path) => method === 'GET' || !/\/(nodes|ippools)\//.test(path),
  });
  const operator = await bench.leader({}, proxy);
  await bench.createNodes(...names);
  await everyoneHasBoth();
  await eventually(async () => {
    for (const name of names) {
      const { annotations } = (await bench.node(name)).metadata;
      expect(Object.keys(annotations ?? {})).toHaveLength(4);
    }
    expect((await bench.pool('p')).status).toMatchObject({ assigned: names.length });
  });
  expect(operator.decided('ProjectionContested')).toEqual([]);
});

test('caches that fall behind are not believed when something would be taken from a node', async () => {
  const proxy = await bench.proxy();
  await bench.leader({}, proxy);
  await bench.createNodes(...names);
  await everyoneHasBoth();
  const before = (await bench.blocks()).sort();
  // The next lists are those of a moment in which half of the nodes were not there.
  for (const name of ['c', 'd']) await bench.retireNode(name);
  await eventually(async () => expect(await bench.blocks()).toHaveLength(names.length));
  await proxy.record('/api/v1/nodes');
  for (const name of ['c', 'd']) await bench.createNode(name);
  await everyoneHasBoth();
  proxy.set({ staleList: 1, goneWatch: 1 });
  proxy.dropWatches();
  await eventually(() => expect(proxy.counts.staleList).toBeGreaterThan(1));
  proxy.calm();
  await bench.createNode('after');
  await eventually(async () => expect(await bench.blocksOf('after')).toHaveLength(2));
  const now = (await bench.blocks()).filter((line) => !line.includes(' after ')).sort();
  expect(now.map((line) => line.split(' ')[0])).toEqual(before.map((line) => line.split(' ')[0]));
  expect(now.filter((line) => !line.endsWith('Active'))).toEqual([]);
});
