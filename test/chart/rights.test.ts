/**
 * The rights that the chart gives are enough, and none of them is missed: an operator that awaits
 * its resource definitions and writes to CiliumNodes, and the console of profile doctor. Those of
 * deploy/*.yaml are held by test/world and test/node.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { renderChart } from '../../scripts/chart.mjs';
import { freePort } from '../parts/free-port.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { accountOf, applyManifest } from '../world/account.ts';
import { Cluster, shortLease } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';

let cluster: Cluster;
let page: PartProcess | undefined;
const dir = mkdtempSync(join(tmpdir(), 'chart-rights-'));

/** Unlike other tests' it has reads, too: what may not be read is refused. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted', 'Panic'],
  rules: [{ level: 'Metadata' }],
};

beforeAll(async () => {
  const policyFile = join(dir, 'audit-policy.json');
  writeFileSync(policyFile, JSON.stringify(auditPolicy));
  cluster = await Cluster.start({ extraArgs: [`--audit-policy-file=${policyFile}`] });
  await cluster.registerCiliumNodes();
}, 120_000);
afterAll(async () => {
  await page?.stop();
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function rendered(values: object, ...templates: string[]): Promise<string> {
  const file = join(dir, `${templates[0]}.yaml`);
  writeFileSync(file, await renderChart(values, templates));
  return file;
}

const refused = () =>
  cluster.requests
    .since(0)
    .filter(({ userAgent, code }) => userAgent.startsWith('cadastre') && code === 403)
    .map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);

test('an operator that awaits its definitions, and gives blocks to CiliumNodes', async () => {
  const values = { profile: 'beside-cilium', ipam: { mode: 'cluster-pool' } };
  const rights = await rendered(values, 'operator-rights');
  const kubeconfigPath = await accountOf(cluster, rights, 'cadastre-operator');
  const operator = await cluster.operator(
    [
      ...['--crds=await', '--ipam=cluster-pool', '--cluster-pool-ipv4-cidr=10.5.112.0/21'],
      ...['--bgp-config-map=kube-system/bgp-config', ...shortLease],
    ],
    { kubeconfigPath },
  );
  const waits = await operator.whenLogged(
    ({ msg }) => msg === 'could not find ippools.cadastre.dev; trying again',
    'that it waits for a definition',
  );
  expect(waits.error).toContain('ippools.cadastre.dev: it is not registered');
  await applyManifest(cluster, await rendered({}, 'crds'));
  await operator.whenLeading();
  await cluster.createNode('n1');
  await cluster.createCiliumNode('n1', []);
  await eventually(async () => {
    const [node] = await cluster.ciliumNodes();
    expect(node?.spec?.ipam?.podCIDRs).toEqual(['10.5.112.0/24']);
  });
  expect(refused()).toEqual([]);
}, 180_000);

test('an operator that reads its mode and CIDRs from the ConfigMap of Cilium', async () => {
  await cluster.stopOperators();
  const maps = '/api/v1/namespaces/kube-system/configmaps';
  await cluster.must('POST', maps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'its-config' },
    data: { ipam: 'cluster-pool', 'cluster-pool-ipv4-cidr': '10.9.0.0/21' },
  });
  const values = { profile: 'beside-cilium', ipam: { ciliumConfig: 'kube-system/its-config' } };
  const rights = await rendered(values, 'operator-rights');
  const kubeconfigPath = await accountOf(cluster, rights, 'cadastre-operator');
  await applyManifest(cluster, await rendered({}, 'crds'));
  const operator = await cluster.operator(
    [
      ...['--crds=await', '--cilium-config=kube-system/its-config', ...shortLease],
      '--cluster-pool-ipv4-mask-size=25',
    ],
    { kubeconfigPath },
  );
  await operator.whenLeading();
  await cluster.createNode('n2');
  await cluster.createCiliumNode('n2', []);
  await eventually(async () => {
    const found = (await cluster.ciliumNodes()).find(({ metadata }) => metadata.name === 'n2');
    expect(found?.spec?.ipam?.podCIDRs).toEqual(['10.9.0.0/25']);
  });
  const warned = operator.logged(({ level }) => level === 'warn').map(({ msg }) => msg);
  expect(warned).toContain(
    'flags win over ConfigMap kube-system/its-config: --cluster-pool-ipv4-mask-size=25 (there: 24)',
  );
  expect(refused()).toEqual([]);
  expect(await operator.stop()).toBe('exit 0');
}, 180_000);

test('the console of profile doctor', async () => {
  const manifest = await rendered({ profile: 'doctor' }, 'console', 'network-policy');
  const kubeconfigPath = await accountOf(cluster, manifest, 'cadastre-console');
  const listen = `127.0.0.1:${await freePort()}`;
  page = startPart({
    name: 'console',
    binary: process.execPath,
    args: [
      await cadastreProgram(),
      ...['console', `--kubeconfig=${kubeconfigPath}`, `--listen=${listen}`],
    ],
    logFile: join(dir, 'console.log'),
    dir,
  });
  const status = async (path: string) => (await fetch(`http://${listen}${path}`)).status;
  await eventually(async () => expect(await status('/readyz')).toBe(200));
  expect(await status('/api/state')).toBe(200);
  expect(refused()).toEqual([]);
}, 120_000);
