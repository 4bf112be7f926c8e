/**
 * What the looking commands say about a real cluster: the same as about the same
 * objects in files, and, for the dry run, what the operator then does.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBuilt } from '../cli/built-command.ts';
import { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';

let cluster: Cluster;
let onCluster: string[];

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
  await cluster.registerCiliumNodes();
  onCluster = ['--kubeconfig', cluster.api.kubeconfigPath];
});

afterAll(() => cluster?.stop());

interface Plan {
  nodes: Array<{ name: string; blocks: Array<{ cidr: string; pool: string; action: string }> }>;
  findings: Array<{ reason: string; nodes: string[] }>;
}

async function plan(...where: string[]): Promise<Plan & { code: number }> {
  const { code, stdout } = await runBuilt(['plan', ...where, '-o', 'json']);
  return { code, ...(JSON.parse(stdout) as Plan) };
}

test('a cluster with nothing in it is looked at without complaint', async () => {
  const { code, stdout, stderr } = await runBuilt(['pools', ...onCluster]);
  expect([code, stdout, stderr]).toEqual([0, '', 'There are no pools.\n']);
});

test('the plan on the cluster, the plan on files, and what the operator does agree', async () => {
  const rack = (name: string) => ({ nodeSelector: { matchLabels: { rack: name } } });
  const blockSize = { ipv4: 24 };
  await cluster.createPool('rack-83', { cidrs: ['10.83.0.0/16'], blockSize, ...rack('83') });
  await cluster.createPool('rack-94', { cidrs: ['10.94.0.0/23'], blockSize, ...rack('94') });
  await cluster.createPool('others', { cidrs: ['10.1.0.0/16'], blockSize, priority: -1 });
  await cluster.createNode('held', { labels: { rack: '83' }, podCIDRs: ['10.83.7.0/24'] });
  await cluster.createNode('torn', { labels: { rack: '83' }, podCIDRs: ['10.83.8.0/24'] });
  await cluster.must('POST', '/apis/cilium.io/v2/ciliumnodes', {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNode',
    metadata: { name: 'torn' },
    spec: { ipam: { podCIDRs: ['10.83.9.0/24'] } },
  });
  for (const name of ['a', 'b', 'c']) await cluster.createNode(name, { labels: { rack: '94' } });
  await cluster.createNode('d');

  const live = await plan(...onCluster);
  expect(live.code).toBe(0);
  expect(live.findings.map(({ reason, nodes }) => [reason, ...nodes])).toEqual([
    ['SourcesDisagree', 'torn'],
  ]);

  const saved = await cluster.kubectl([
    'get',
    'nodes,ippools,nodeblocks,ciliumnodes',
    '-o',
    'json',
  ]);
  const services = await cluster.kubectl(['get', 'servicecidrs', '-o', 'yaml']);
  writeFileSync(join(cluster.dir, 'saved.json'), saved.stdout);
  writeFileSync(join(cluster.dir, 'services.yaml'), services.stdout);
  const files = ['saved.json', 'services.yaml'].flatMap((name) => [
    '--from',
    join(cluster.dir, name),
  ]);
  expect(await plan(...files)).toEqual(live);

  await cluster.leader();
  const planned = live.nodes.flatMap(({ name, blocks }) =>
    blocks.map((block) => ({ name, ...block })),
  );
  const made = await eventually(async () => {
    const blocks = (await cluster.blocks()).map(({ spec }) => spec);
    expect(blocks).toHaveLength(planned.length);
    return blocks;
  });
  // Which of several new nodes comes first is not promised; the land is, and what is held.
  const land = (blocks: ReadonlyArray<{ cidr: string; pool: string }>) =>
    blocks.map(({ cidr, pool }) => `${cidr} ${pool}`).sort();
  expect(land(made)).toEqual(land(planned));
  for (const { name, cidr } of planned.filter(({ action }) => action === 'adopt')) {
    expect(made.find((block) => block.cidr === cidr)?.node?.name).toBe(name);
  }

  const after = await plan(...onCluster);
  expect(after.nodes.flatMap(({ blocks: own }) => own.map(({ action }) => action))).toEqual(
    Array(6).fill('keep'),
  );
  const explained = await runBuilt(['explain', '10.83.9.5', ...onCluster]);
  expect(explained.stdout).toMatch(/Holder +10\.83\.9\.0\/24 +torn +pool rack-83, Active since 20/);
  const unserved = await runBuilt(['nodes', '--unserved', '-o', 'name', ...onCluster]);
  expect([unserved.code, unserved.stdout]).toEqual([0, '']);
});

test('who may read nothing is told what, and sees nothing', async () => {
  const { code, stdout, stderr } = await runBuilt(['nodes', ...onCluster, '--context', 'nobody']);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^cadastre: GET .* was answered 403 Forbidden/);
  expect(stderr).not.toContain('    at ');
});
