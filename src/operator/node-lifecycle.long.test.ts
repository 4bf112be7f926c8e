/** Nodes leave, come back, and take their time to die; their blocks follow them through all of it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import type { BlockObject } from '../../test/world/objects.ts';
import { nodeBlocks, nodeReports, nodes } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(() => bench.end());

const block = (name: string) => bench.client.get<BlockObject>(nodeBlocks, name);

test('the blocks of a deleted node cool down, and are its own again when it comes back in time', async () => {
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/22', 'fd00:1::/62'],
    blockSize: { ipv4: 24, ipv6: 64 },
    cooldownSeconds: 3_600,
  });
  const operator = await bench.leader();
  await bench.createNode('a');
  await bench.whenBlocks(['10.1.0.0/24 a Active', 'fd00:1::/64 a Active']);
  await bench.deleteNode('a');
  await bench.whenBlocks(['10.1.0.0/24 a Cooling', 'fd00:1::/64 a Cooling']);
  expect((await block('10-1-0-0-24')).spec.coolingSince).toBeDefined();
  // What cools down is not free.
  await bench.createNode('b');
  await eventually(async () =>
    expect(await bench.blocksOf('b')).toEqual(['10.1.1.0/24 Active', 'fd00:1:0:1::/64 Active']),
  );
  const { metadata } = await bench.createNode('a');
  await eventually(async () =>
    expect(await bench.blocksOf('a')).toEqual(['10.1.0.0/24 Active', 'fd00:1::/64 Active']),
  );
  const { spec } = await block('10-1-0-0-24');
  expect(spec.node?.uid).toBe(metadata.uid);
  expect(spec.coolingSince).toBeUndefined();
  expect(operator.decided('Cooling').sort()).toEqual(['10.1.0.0/24', 'fd00:1::/64']);
  expect(operator.decided('Returned').sort()).toEqual(['10.1.0.0/24', 'fd00:1::/64']);
});

test('after its cool-down a block is freed, by whichever leader, and goes to who waits for it', async () => {
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/24'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 1,
  });
  const first = await bench.leader();
  await bench.createNode('a');
  await bench.whenBlocks(['10.1.0.0/24 a Active']);
  await bench.createNode('waits');
  await bench.whenReason('waits', 'PoolExhausted');
  await bench.retireNode('a');
  const cooling = await eventually(async () => {
    const found = await block('10-1-0-0-24');
    expect(found.spec.phase).toBe('Cooling');
    return found;
  });
  await first.stop();
  const second = await bench.leader();
  await bench.whenBlocks(['10.1.0.0/24 waits Active']);
  const given = await block('10-1-0-0-24');
  expect(given.metadata.uid).not.toBe(cooling.metadata.uid);
  // A new leader does not cut it short.
  expect([...first.decided('Released'), ...second.decided('Released')]).toEqual(['10.1.0.0/24']);
  expect(Date.now() - Date.parse(cooling.spec.coolingSince ?? '')).toBeGreaterThanOrEqual(1_000);
  await bench.whenReason('waits', 'BlocksAssigned');
});

test('a node that is only being deleted still runs pods and keeps its block', async () => {
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/22'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 0,
  });
  await bench.leader();
  await bench.createNode('slow', { finalizers: ['example.com/wait'] });
  await bench.whenBlocks(['10.1.0.0/24 slow Active']);
  await bench.retireNode('slow');
  // Whoever starts now lists a Node with a deletionTimestamp, and goes through everything.
  const next = bench.operator();
  await bench.createNode('other');
  await bench.whenBlocks(['10.1.0.0/24 slow Active', '10.1.1.0/24 other Active']);
  expect(next.decided('Cooling')).toEqual([]);
  await bench.patch(nodes, 'slow', { metadata: { finalizers: null } });
  await bench.whenBlocks(['10.1.1.0/24 other Active']);
});

test('what happened while nobody led is put right by the next leader', async () => {
  await bench.createPool('p', { cidrs: ['10.1.0.0/20'], blockSize: { ipv4: 24 } });
  const first = await bench.leader();
  await bench.createNodes('a', 'goes', 'reborn');
  await eventually(async () => expect(await bench.blocks()).toHaveLength(3));
  const before = await bench.blocks();
  await first.stop();
  await bench.deleteNode('goes');
  await bench.deleteNode('reborn');
  const { metadata } = await bench.createNode('reborn');
  await bench.leader();
  await bench.whenBlocks(before.map((line) => line.replace('goes Active', 'goes Cooling')));
  const [reborn] = (await bench.list<BlockObject>(nodeBlocks)).filter(
    ({ spec }) => spec.node?.name === 'reborn',
  );
  await eventually(async () =>
    expect((await block(reborn?.metadata.name ?? '')).spec.node?.uid).toBe(metadata.uid),
  );
});

test('a relabelled node keeps its block and hears of it; drained and emptied it moves', async () => {
  const pool = (rack: string) => ({
    cidrs: [`10.${rack}.0.0/22`],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 0,
    nodeSelector: { matchLabels: { rack } },
  });
  await bench.createPool('r1', pool('1'));
  await bench.createPool('r2', pool('2'));
  const operator = await bench.leader();
  const { metadata } = await bench.createNode('n', { labels: { rack: '1' } });
  await bench.whenBlocks(['10.1.0.0/24 n Active']);
  await bench.patch(nodes, 'n', { metadata: { labels: { rack: '2' } } });
  await eventually(async () => {
    const [event] = await bench.events('n');
    expect(event).toMatchObject({ reason: 'PoolNoLongerSelects' });
  });
  expect(operator.metric('cadastre_findings', { reason: 'PoolNoLongerSelects' })).toBe(1);
  expect(await bench.blocks()).toEqual(['10.1.0.0/24 n Active']);
  const { uid } = (await block('10-1-0-0-24')).metadata;
  await bench.createOurs(nodeReports, 'n', {
    nodeUID: metadata.uid,
    releases: [{ cidr: '10.1.0.0/24', uid }],
  });
  await bench.patch(nodeBlocks, '10-1-0-0-24', { spec: { phase: 'Draining' } });
  await bench.whenBlocks(['10.2.0.0/24 n Active']);
  await eventually(async () => {
    expect((await bench.node('n')).metadata.annotations).toMatchObject({
      'network.cilium.io/ipv4-pod-cidr': '10.2.0.0/24',
    });
    expect(operator.metric('cadastre_findings', { reason: 'PoolNoLongerSelects' })).toBe(0);
  });
});
