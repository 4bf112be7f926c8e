/** Mode multi-pool on the embedded API server: an agent of Cilium asks, uses and drops. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ciliumPools, type PoolsSpec } from '../../test/multi-pool/objects.ts';
import { type ListedPool, SimulatedAgent } from '../../test/multi-pool/simulated-agent.ts';
import { eventually, OperatorBench } from '../../test/operator/operator-bench.ts';
import { ApiError } from '../kube/api-error.ts';
import { ciliumNodes, nodeBlocks, pods } from '../model/resources.ts';

interface CiliumNodeObject {
  metadata: { name: string; resourceVersion: string };
  spec: { ipam: { pools?: { allocated?: ListedPool[]; requested?: unknown } } };
  status?: { ipam?: { 'operator-status'?: { error?: string } } };
}

let bench: OperatorBench;

beforeEach(async () => {
  bench = await OperatorBench.start();
  await bench.registerCiliumNodes();
  const spec = { blockSize: { ipv4: 28 }, cooldownSeconds: 1 };
  await bench.createPool('default', { cidrs: ['10.1.0.0/24'], ...spec });
  await bench.createPool('mars', { cidrs: ['10.9.0.0/24'], ...spec });
});
afterEach(() => bench.end());

const mode = { mode: 'multi-pool' };
const ciliumNode = (name: string) => bench.client.get<CiliumNodeObject>(ciliumNodes, name);
const allocated = async (name: string) =>
  (await ciliumNode(name)).spec.ipam.pools?.allocated?.map(
    ({ pool, cidrs = [] }) => `${pool} ${cidrs.join(' ')}`,
  ) ?? [];
const errorOf = async (name: string) =>
  (await ciliumNode(name)).status?.ipam?.['operator-status']?.error ?? '';

async function join(name: string, pools: PoolsSpec = {}): Promise<void> {
  await bench.createNode(name);
  await bench.client.create(ciliumNodes, {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNode',
    metadata: { name },
    spec: { ipam: { pools: ciliumPools(pools) } },
  });
}

/** The agent's own round: it reads, drops what is too much, and puts the whole object. */
async function sync(name: string, agent: SimulatedAgent): Promise<void> {
  for (;;) {
    const node = await ciliumNode(name);
    agent.observe(node.spec.ipam.pools?.allocated ?? []);
    const spec = { ...node.spec, ipam: { ...node.spec.ipam, pools: agent.sync() } };
    try {
      await bench.client.replace(ciliumNodes, name, { ...node, spec });
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isConflict) throw error;
    }
  }
}

test('an agent gets blocks of two pools, keeps what it uses, and drops what it has emptied', async () => {
  await bench.leader(mode);
  await join('n');
  const agent = new SimulatedAgent({ default: 8 });
  await sync('n', agent);
  await eventually(async () => expect(await allocated('n')).toEqual(['default 10.1.0.0/28']));
  expect(await bench.blocksOf('n')).toEqual(['10.1.0.0/28 Active']);

  await sync('n', agent);
  // A pod with the annotation of another pool waits; the agent asks for that pool by its name.
  expect(agent.use('mars')).toBeUndefined();
  for (let pod = 0; pod < 10; pod++) agent.use('default');
  await sync('n', agent);
  await eventually(async () =>
    expect(await allocated('n')).toEqual(['default 10.1.0.0/28 10.1.0.16/28', 'mars 10.9.0.0/28']),
  );
  await sync('n', agent);
  expect(agent.use('mars')).toBe('10.9.0.1');
  expect(await errorOf('n')).toBe('');

  agent.releaseAll('mars');
  agent.releaseAll('default');
  await sync('n', agent);
  await eventually(async () => expect(await bench.blocks()).toEqual(['10.1.0.0/28 n Active']));
  expect(await allocated('n')).toEqual(['default 10.1.0.0/28']);

  // What is free again goes to another node.
  await join('other', { requested: [['mars', 1, 0]] });
  await eventually(async () => expect(await allocated('other')).toEqual(['mars 10.9.0.0/28']));
});

test('what CiliumNodes list is adopted before anything is cut', async () => {
  await join('old', { allocated: { default: ['10.1.0.0/28', '10.1.0.32/28'] } });
  await join('new', { requested: [['default', 20, 0]] });
  await bench.leader(mode);
  await eventually(async () =>
    expect(await allocated('new')).toEqual(['default 10.1.0.16/28 10.1.0.48/28']),
  );
  expect(await bench.blocksOf('old')).toEqual(['10.1.0.0/28 Active', '10.1.0.32/28 Active']);
  expect(await allocated('old')).toEqual(['default 10.1.0.0/28 10.1.0.32/28']);
});

test('what cannot be served is said in the status of the CiliumNode, until it can', async () => {
  await bench.leader(mode);
  await join('n', {
    requested: [
      ['default', 1, 0],
      ['venus', 1, 0],
    ],
  });
  await eventually(async () => expect(await errorOf('n')).toContain('no IPPool of that name'));
  expect(await allocated('n')).toEqual(['default 10.1.0.0/28']);
  await bench.createPool('venus', { cidrs: ['10.7.0.0/24'], blockSize: { ipv4: 28 } });
  await eventually(async () => expect(await errorOf('n')).toBe(''));
  expect(await allocated('n')).toEqual(['default 10.1.0.0/28', 'venus 10.7.0.0/28']);
});

test('a block that is dropped while a pod has an address of it stays with its node', async () => {
  const { operator } = await bench.leader(mode);
  await join('n', { requested: [['default', 20, 0]] });
  const both = ['default 10.1.0.0/28 10.1.0.16/28'];
  await eventually(async () => expect(await allocated('n')).toEqual(both));
  await eventually(() => expect(operator.register.ciliumNodes.get('n')?.poolCidrs).toHaveLength(2));
  await bench.client.create(
    pods,
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    },
    { namespace: 'default' },
  );
  const podIPs = [{ ip: '10.1.0.17' }];
  await bench.client.patch(pods, 'p', {
    type: 'merge',
    namespace: 'default',
    subresource: 'status',
    body: { status: { podIP: '10.1.0.17', podIPs } },
  });
  // Not the agent: it would not have dropped it.
  await bench.patch(ciliumNodes, 'n', {
    spec: { ipam: { pools: ciliumPools({ allocated: { default: ['10.1.0.0/28'] } }) } },
  });
  await eventually(async () => {
    const block = await bench.client.get<{ status?: unknown }>(nodeBlocks, '10-1-0-16-28');
    expect(JSON.stringify(block.status)).toContain(
      'n uses it: 1 pod has addresses in 10.1.0.16/28',
    );
  });
  expect(await bench.blocksOf('n')).toEqual(['10.1.0.0/28 Active', '10.1.0.16/28 Active']);
});

test('a leader that dies between the register and the list leaves nothing behind', async () => {
  // Whoever patches a CiliumNode through it waits for ever.
  const intercept = async ({ method, path }: { method: string; path: string }) =>
    method === 'PATCH' && path.includes('/ciliumnodes/');
  const first = await bench.leader(mode, await bench.proxy({ intercept }));
  await join('n', { requested: [['default', 1, 0]] });
  await eventually(async () => expect(await bench.blocksOf('n')).toHaveLength(1));
  await first.crash();
  await bench.leader(mode);
  await eventually(async () => expect(await allocated('n')).toEqual(['default 10.1.0.0/28']));
  expect(await bench.blocksOf('n')).toEqual(['10.1.0.0/28 Active']);
});

test('a CiliumNode that is deleted and made again gets the same blocks', async () => {
  await bench.leader(mode);
  await join('n', { requested: [['default', 20, 0]] });
  const both = ['default 10.1.0.0/28 10.1.0.16/28'];
  await eventually(async () => expect(await allocated('n')).toEqual(both));
  await bench.client.delete(ciliumNodes, 'n');
  await bench.client.create(ciliumNodes, {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNode',
    metadata: { name: 'n' },
    spec: { ipam: {} },
  });
  await eventually(async () => expect(await allocated('n')).toEqual(both));
  expect(await bench.blocksOf('n')).toEqual(['10.1.0.0/28 Active', '10.1.0.16/28 Active']);
});
