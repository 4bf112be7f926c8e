/**
 * The history of blocks, kept as objects: who held what, why, when it was
 * announced and withdrawn; across leaders, and without a write per node.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBuilt } from '../cli/built-command.ts';
import { Cluster } from './cluster.ts';
import { eventually, inParallel } from './eventually.ts';

let cluster: Cluster;
const histories = '/apis/cadastre.dev/v1alpha1/blockhistories';
const reports = '/apis/cadastre.dev/v1alpha1/nodereports';

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
}, 120_000);

afterAll(() => cluster?.stop());

interface Explained {
  history: Array<{ cidr: string; entries: Array<Record<string, unknown>> }>;
}

async function historyOf(cidr: string) {
  const where = ['--kubeconfig', cluster.api.kubeconfigPath];
  const { stdout } = await runBuilt(['explain', cidr, ...where, '-o', 'json']);
  const { history } = JSON.parse(stdout) as Explained;
  return history.find((log) => log.cidr === cidr)?.entries ?? [];
}

async function report(node: string, announced: string[]): Promise<void> {
  const { metadata } = await cluster.node(node);
  const known = await cluster.call('GET', `${reports}/${node}`);
  if (known.status === 404) {
    await cluster.must('POST', reports, {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'NodeReport',
      metadata: { name: node },
      spec: { nodeUID: metadata.uid },
    });
  }
  const session = { peer: 'tor1', address: '10.4.94.1', asn: 64524, state: 'Established' };
  const told = announced.map((prefix) => ({ prefix, nextHop: '10.4.94.23' }));
  await cluster.must('PATCH', `${reports}/${node}/status`, {
    status: { sessions: [{ ...session, announced: told }] },
  });
}

test('a block is followed from hand to hand, through a change of leaders', async () => {
  const first = await cluster.leader();
  await cluster.createPool('p', {
    cidrs: ['10.5.0.0/24'],
    blockSize: { ipv4: 25 },
    cooldownSeconds: 0,
  });
  await cluster.createNode('node1');
  await cluster.createNode('keeper');
  const cidr = await eventually(async () => {
    const own = (await cluster.blocks()).find(({ spec }) => spec.node?.name === 'node1');
    return own!.spec.cidr;
  });
  await report('node1', [cidr]);
  await eventually(async () => {
    expect((await historyOf(cidr)).map(({ event }) => event)).toEqual(['Assigned', 'Announced']);
  });
  await report('node1', []);
  await eventually(async () => expect((await historyOf(cidr)).at(-1)?.event).toBe('Withdrawn'));

  // While nobody leads the node goes, and another comes for its block.
  await first.kill9();
  await cluster.retireNode('node1');
  await cluster.createNode('node2');
  await cluster.leader(['--lease-name=second']);
  const told = await eventually(
    async () => {
      const entries = await historyOf(cidr);
      expect(entries.at(-1)?.node).toBe('node2');
      return entries;
    },
    { withinMs: 90_000 },
  );
  const words = told.map(({ event, node }) => `${event} ${node}`);
  expect(words.slice(0, 3)).toEqual(['Assigned node1', 'Announced node1', 'Withdrawn node1']);
  expect(words.slice(3).filter((word) => word !== 'Cooling node1')).toEqual([
    'Released node1',
    'Assigned node2',
  ]);
  expect(told[0]).toMatchObject({ pool: 'p', why: 'the only pool that selects it' });
  expect(told[1]).toMatchObject({ peers: ['tor1'] });

  const { stdout } = await runBuilt(['explain', cidr, '--kubeconfig', cluster.api.kubeconfigPath]);
  expect(stdout).toMatch(/History +20\S+Z +Assigned +node1 +pool p: the only pool that selects it/);
  expect(stdout).toMatch(/ 20\S+Z +Announced +node1 +to tor1/);
}, 180_000);

test('a mass join costs a bounded number of writes, after the blocks are given', async () => {
  await cluster.wipe();
  for (const { metadata } of await cluster.list<{ metadata: { name: string } }>(histories)) {
    await cluster.must('DELETE', `${histories}/${metadata.name}`);
  }
  await cluster.leader();
  await cluster.createPool('p', { cidrs: ['10.0.0.0/16'], blockSize: { ipv4: 28 } });
  const count = 150;
  const names = Array.from({ length: count }, (_, at) => `n${at}`);
  const mark = cluster.requests.mark();
  await inParallel(names, 16, (name) => cluster.createNode(name));
  const entries = await eventually(
    async () => {
      type Volume = { spec: { blocks: Array<{ entries: unknown[] }> } };
      const volumes = await cluster.list<Volume>(histories);
      const all = volumes.flatMap(({ spec }) => spec.blocks.flatMap((block) => block.entries));
      expect(all).toHaveLength(count);
      return all;
    },
    { withinMs: 150_000, everyMs: 1_000 },
  );
  expect(entries).toHaveLength(count);
  const isOurs = ({ userAgent }: { userAgent: string }) => userAgent.startsWith('cadastre');
  const order = cluster.requests.since(mark).filter(isOurs);
  const writes = order.filter(({ resource }) => resource === 'blockhistories');
  const volumes = new Set(writes.map(({ name }) => name));
  expect(volumes.size).toBeGreaterThan(50);
  // A second write for a volume that was marked again while it was written.
  expect(writes.length).toBeLessThanOrEqual(2 * volumes.size);
  expect(
    order.filter(({ resource, verb }) => `${verb} ${resource}` === 'create nodeblocks'),
  ).toHaveLength(count);
}, 240_000);
