/** A block is free when its cool-down was watched to its end, and a witness says that its node does not use it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { clockAhead, eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import type { BlockObject } from '../../test/world/objects.ts';
import type { BlockLog } from '../model/block-history.ts';
import {
  blockHistories,
  ipPools,
  nodeBlocks,
  nodeReports,
  nodes,
  pods,
} from '../model/resources.ts';
import type { HeardRouter } from '../plan/blocks/heard-routers.ts';

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

/** The report of an agent that is not heard of again, or says something else. */
const report = async (node: string, spec: object = {}) => {
  const { metadata } = await bench.node(node);
  await bench.createOurs(nodeReports, node, { nodeUID: metadata.uid, ...spec });
};

describe('a witness', () => {
  test('the agent, that withdrew the block and said so: its report goes with its last block', async () => {
    await bench.createPool('p', onePool);
    const operator = await bench.leader();
    await bench.createNodes('a');
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    await bench.createNode('waits');
    // The history is written by comparison: it has to know of the block before it is released.
    await eventually(async () => expect(await bench.list(blockHistories)).toHaveLength(1));
    await bench.retireNode('a');
    await bench.whenBlocks(['10.1.0.0/24 waits Active']);
    await eventually(async () => expect(await bench.list(nodeReports)).toEqual([]));
    expect(operator.metric('cadastre_blocks_released_total', { by: 'Fenced' })).toBe(1);
    await eventually(async () => {
      const [volume] = await bench.list<{ spec: { blocks: BlockLog[] } }>(blockHistories);
      const entries = volume?.spec.blocks[0]?.entries ?? [];
      expect(entries.find(({ event }) => event === 'Released')?.why).toMatch(/^Fenced: /);
    });
  });

  test('not an agent that took its fence out of its report before its Node went', async () => {
    await bench.createPool('p', onePool);
    await bench.leader();
    await bench.createNode('a');
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    await bench.fence('a');
    await bench.patch(nodeReports, 'a', { spec: { fenced: null } });
    await bench.deleteNode('a');
    await whenAwaiting('10-1-0-0-24');
    expect(await bench.blocks()).toEqual(['10.1.0.0/24 a Cooling']);
  });

  test('the routers, once all of them are heard and clear; until then it is said which are not', async () => {
    await bench.createPool('p', onePool);
    const tor1 = { routeMs: Number.POSITIVE_INFINITY as number | undefined };
    const router: HeardRouter = {
      name: 'tor1',
      addresses: new Set(['10.4.94.1']),
      by: 'bmp',
      completeSinceMs: { ipv4: Number.NEGATIVE_INFINITY },
      lastRouteMs: () => tor1.routeMs,
      lastSessionMs: () => undefined,
    };
    const operator = await bench.leader({
      witness: {
        get routers() {
          return [router];
        },
        seen: () => [],
        onChange: () => {},
      },
    });
    await bench.createNode('a');
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    await bench.report('a', ['10.1.0.0/24']);
    await bench.patch(nodeReports, 'a', { spec: { reconfirmAfterSeconds: 0 } });
    await bench.deleteNode('a');
    await eventually(async () => {
      const { status } = await whenAwaiting('10-1-0-0-24');
      expect(status?.conditions?.[0]?.message).toMatch(
        /still with a route to 10\.1\.0\.0\/24 .*: tor1;.* cadastre blocks release 10\.1\.0\.0\/24/,
      );
    });
    await eventually(async () => {
      const events = await bench.events('10-1-0-0-24');
      expect(events.map(({ reason }) => reason)).toContain('AwaitingWitness');
      expect((await bench.pool('p')).status).toMatchObject({ cooling: 0, awaitingRelease: 1 });
      expect(operator.metric('cadastre_blocks_awaiting_release', { pool: 'p' })).toBe(1);
    });
    tor1.routeMs = undefined;
    await bench.patch(nodeReports, 'a', { metadata: { annotations: { look: 'again' } } });
    await bench.whenBlocks([]);
    expect(operator.metric('cadastre_blocks_released_total', { by: 'Routers' })).toBe(1);
  });

  test('a person, whose word is in the block before the operator does anything by it', async () => {
    await bench.createPool('p', onePool);
    await bench.leader();
    await bench.createNode('a');
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    await report('a');
    await bench.deleteNode('a');
    await whenAwaiting('10-1-0-0-24');
    const released = { by: 'Administrator', detail: 'powered off' };
    await bench.patch(nodeBlocks, '10-1-0-0-24', { spec: { released } });
    await bench.whenBlocks([]);
  });

  test('the out-of-service taint, for as long as it is there', async () => {
    await bench.createPool('p', onePool);
    await bench.leader();
    await bench.createNode('a');
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    await report('a');
    const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
    const whenReleased = (by: string | undefined) =>
      eventually(async () => expect((await block('10-1-0-0-24')).spec.released?.by).toBe(by));
    await bench.patch(nodes, 'a', { spec: { taints } });
    await whenReleased('OutOfService');
    await bench.patch(nodes, 'a', { spec: { taints: null } });
    await whenReleased(undefined);
    await bench.patch(nodes, 'a', { spec: { taints } });
    await whenReleased('OutOfService');
    await bench.deleteNode('a');
    await bench.whenBlocks([]);
  });

  test('that was written by a leader which then died is enough for the next', async () => {
    await bench.createPool('p', onePool);
    const first = await bench.leader();
    await bench.createNode('a');
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    await report('a');
    await first.stop();
    await bench.deleteNode('a');
    const coolingSince = new Date().toISOString();
    const spec = { phase: 'Cooling', coolingSince, restedSeconds: 0, released: { by: 'Fenced' } };
    await bench.patch(nodeBlocks, '10-1-0-0-24', { spec });
    await bench.leader();
    await bench.whenBlocks([]);
  });
});

describe('time alone', () => {
  test('releases what nobody can speak for, by the policy of the pool; it is used after all others', async () => {
    await bench.createPool('p', { ...onePool, cidrs: ['10.1.0.0/23'], releaseByTimeSeconds: 1 });
    const operator = await bench.leader();
    await bench.createNode('a');
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    expect((await block('10-1-0-0-24')).spec.releaseByTimeSeconds).toBe(1);
    await bench.deleteNode('a');
    await eventually(async () =>
      expect((await block('10-1-0-0-24')).spec.released?.by).toBe('Time'),
    );
    expect(operator.decided('ReleasedByTime')).toEqual(['10.1.0.0/24']);
    await eventually(async () =>
      expect((await bench.pool('p')).status).toMatchObject({ free: 2, cooling: 0 }),
    );
    await bench.createNode('b');
    await bench.whenBlocks(['10.1.0.0/24 a Cooling', '10.1.1.0/24 b Active']);
    await bench.createNode('c');
    await bench.whenBlocks(['10.1.0.0/24 c Active', '10.1.1.0/24 b Active']);
  });

  test('releases nothing while Pods of the node exist, or for an agent that did not agree to it', async () => {
    await bench.createPool('p', { ...onePool, cidrs: ['10.1.0.0/23'], releaseByTimeSeconds: 1 });
    await bench.leader();
    await bench.createNodes('a', 'agent');
    await eventually(async () => expect(await bench.blocks()).toHaveLength(2));
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web' },
      spec: { nodeName: 'a', containers: [{ name: 'c', image: 'i' }] },
    };
    await bench.client.create(pods, pod, { namespace: 'default' });
    await report('agent');
    for (const name of ['a', 'agent']) await bench.deleteNode(name);
    const words = async (node: string) => {
      const all = await bench.list<BlockObject>(nodeBlocks);
      const own = all.find(({ spec }) => spec.node?.name === node);
      return own?.status?.conditions?.[0]?.message ?? '';
    };
    await eventually(async () => {
      expect(await words('a')).toContain('1 Pod of a still exist');
      expect(await words('agent')).toContain('its agent has not reported that it falls silent');
    });
  });
});

describe('another machine of the same name', () => {
  test('gets another block, unless it has an address that is recorded in the block', async () => {
    await bench.createPool('p', { ...onePool, cidrs: ['10.1.0.0/22'], cooldownSeconds: 300 });
    await bench.leader();
    await bench.createNode('a', { addresses: ['10.4.94.23'] });
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    expect((await block('10-1-0-0-24')).spec.node?.addresses).toEqual(['10.4.94.23']);
    await bench.deleteNode('a');
    await bench.createNode('a', { addresses: ['10.4.94.99'] });
    await bench.whenBlocks(['10.1.0.0/24 a Cooling', '10.1.1.0/24 a Active']);
    await bench.deleteNode('a');
    await bench.whenBlocks(['10.1.0.0/24 a Cooling', '10.1.1.0/24 a Cooling']);
    await bench.createNode('a', { addresses: ['10.4.94.99'] });
    await bench.whenBlocks(['10.1.0.0/24 a Cooling', '10.1.1.0/24 a Active']);
  });

  test('what a block records follows its node and its pool', async () => {
    await bench.createPool('p', { ...onePool, cidrs: ['10.1.0.0/22'] });
    await bench.leader();
    await bench.createNode('a', { addresses: ['10.4.94.23'] });
    await bench.whenBlocks(['10.1.0.0/24 a Active']);
    const status = { addresses: [{ type: 'InternalIP', address: '10.4.94.24' }] };
    await bench.client.patch(nodes, 'a', {
      type: 'merge',
      subresource: 'status',
      body: { status },
    });
    await bench.patch(ipPools, 'p', { spec: { releaseByTimeSeconds: 600 } });
    await eventually(async () =>
      expect((await block('10-1-0-0-24')).spec).toMatchObject({
        node: { addresses: ['10.4.94.24'] },
        releaseByTimeSeconds: 600,
      }),
    );
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
