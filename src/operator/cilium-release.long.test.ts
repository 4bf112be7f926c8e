/** Beside Cilium a block is let go only when nothing of its node lives in it, whatever records say. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import type { BlockObject } from '../../test/world/objects.ts';
import { ciliumNodes, nodeBlocks, pods } from '../model/resources.ts';

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
  await bench.registerCiliumNodes();
});
afterEach(() => bench.end());

const oldBlock = '10-1-0-0-24';
const words = async () => {
  const block = await bench.client.get<BlockObject>(nodeBlocks, oldBlock);
  return block.status?.conditions?.[0]?.message ?? '';
};
const livesAt = (internal: string) =>
  bench.patch(ciliumNodes, 'n1', {
    spec: {
      addresses: [
        { type: 'InternalIP', ip: '192.0.2.1' },
        { type: 'CiliumInternalIP', ip: internal },
      ],
    },
  });

test('a block that no record names any more, while the agent of Cilium serves from it', async () => {
  await bench.createPool('p', {
    cidrs: ['10.1.0.0/23'],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 0,
  });
  await bench.leader({ projections: [] });
  const { metadata } = await bench.createNode('n1');
  await bench.whenBlocks(['10.1.0.0/24 n1 Active']);
  await bench.createCiliumNode('n1', ['10.1.0.0/24']);
  await livesAt('10.1.0.17');
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
  };
  await bench.client.create(pods, pod, { namespace: 'default' });
  const body = { status: { phase: 'Running', podIPs: [{ ip: '10.1.0.28' }], podIP: '10.1.0.28' } };
  const options = { type: 'merge', subresource: 'status', namespace: 'default', body } as const;
  await bench.client.patch(pods, 'web', options);

  // The move as far as records go: CiliumNode names the new block, the agent has not noticed.
  await bench.patch(ciliumNodes, 'n1', { spec: { ipam: { podCIDRs: ['10.1.1.0/24'] } } });
  await bench.patch(nodeBlocks, oldBlock, { spec: { phase: 'Draining' } });
  await bench.createOurs(nodeBlocks, '10-1-1-0-24', {
    cidr: '10.1.1.0/24',
    pool: 'p',
    node: { name: 'n1', uid: metadata.uid },
    phase: 'Active',
  });
  await bench.createNode('n4');
  await eventually(async () =>
    expect(await words()).toMatch(
      /the agent of Cilium on n1 serves from 10\.1\.0\.0\/24 \(CiliumInternalIP 10\.1\.0\.17\).*restart/,
    ),
  );
  expect(await bench.blocks()).toEqual(['10.1.0.0/24 n1 Draining', '10.1.1.0/24 n1 Active']);

  // Restarted: it serves from the new block, but a pod has kept its address.
  await livesAt('10.1.1.17');
  await eventually(async () => expect(await words()).toContain('10.1.0.28 of default/web'));
  expect(await bench.blocks()).toEqual(['10.1.0.0/24 n1 Draining', '10.1.1.0/24 n1 Active']);

  await bench.client.patch(pods, 'web', { ...options, body: { status: { phase: 'Succeeded' } } });
  await bench.whenBlocks(['10.1.0.0/24 n4 Active', '10.1.1.0/24 n1 Active']);
});
