/** A block is free when its cool-down was watched to its end, and a witness says that its node does not use it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { clockAhead, eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import type { BlockObject } from '../../test/world/objects.ts';
import { nodeBlocks, nodeReports } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
});
afterEach(() => bench.end());

const block = (name: string) => bench.client.get<BlockObject>(nodeBlocks, name);
const onePool = { cidrs: ['10.1.0.0/24'], blockSize: { ipv4: 24 }, cooldownSeconds: 0 };

const whenAwaiting = (name: string): Promise<BlockObject> =>
  eventually(async () => {
    const found = await block(name);
    expect(found.status?.conditions?.[0]).toMatchObject({
      type: 'Releasable',
      status: 'False',
      reason: 'AwaitingWitness',
    });
    return found;
  });

describe('a node that is cut off from the API server', () => {
  test('keeps its block although its Node was deleted: nobody says that it does not use it', async () => {
    await bench.createPool('p', onePool);
    await bench.leader();
    const { metadata } = await bench.createNode('a');
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    // Its agent reported, and is not heard of again.
    await bench.createOurs(nodeReports, 'a', { nodeUID: metadata.uid });
    await bench.deleteNode('a');
    await whenAwaiting('10-1-0-0-24');
    await bench.createNode('b');
    await bench.whenReason('b', 'PoolExhausted');
    expect(await bench.blocks()).toEqual(['10.1.0.0/24 a Cooling']);
  });
});

describe('the cool-down', () => {
  test('is not cut short by a next leader whose clock is ten minutes ahead', async () => {
    await bench.createPool('p', { ...onePool, cooldownSeconds: 300 });
    await bench.createPool('q', {
      ...onePool,
      cidrs: ['10.2.0.0/24'],
      nodeSelector: { matchLabels: { rack: 'q' } },
      priority: 1,
    });
    const first = await bench.leader();
    const a = await bench.createNode('a');
    const q = await bench.createNode('q', { labels: { rack: 'q' } });
    await bench.whenBlocks(['10.1.0.0/24 a Active', '10.2.0.0/24 q Active']);
    const fencedBy = async (node: string, nodeUID: string, name: string, cidr: string) => {
      const { uid } = (await block(name)).metadata;
      await bench.createOurs(nodeReports, node, { nodeUID, fenced: [{ cidr, uid }] });
    };
    await fencedBy('a', a.metadata.uid, '10-1-0-0-24', '10.1.0.0/24');
    await fencedBy('q', q.metadata.uid, '10-2-0-0-24', '10.2.0.0/24');
    await bench.deleteNode('a');
    await eventually(async () => expect(await bench.blocks()).toContain('10.1.0.0/24 a Cooling'));
    await first.stop();
    await bench.deleteNode('q');
    await bench.leader({ clock: clockAhead(600) });
    // It has gone over all blocks: the one without a cool-down is free.
    await bench.whenBlocks(['10.1.0.0/24 a Cooling']);
    await bench.createNode('b');
    await bench.whenReason('b', 'PoolExhausted');
    expect(await bench.blocks()).toEqual(['10.1.0.0/24 a Cooling']);
  });
});
