/** A release on a real API server: install, upgrade from the version before, uninstall; what becomes of the resource definitions and of objects. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { silentLog } from '../../src/base/log.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { ensureCrds } from '../../src/kube/crds.ts';
import { loadKubeConfig } from '../../src/kube/kubeconfig.ts';
import { revisionAnnotation } from '../../src/model/crd.ts';
import { crds } from '../../src/model/crds.ts';
import { type ApiServer, startApiServer } from '../parts/apiserver.ts';
import { eventually } from '../world/eventually.ts';
import { chartDir, Helm } from './helm.ts';

let api: ApiServer;
let helm: Helm;

beforeAll(async () => {
  api = await startApiServer();
  helm = new Helm(api.kubeconfigPath);
}, 120_000);
afterAll(async () => {
  helm?.end();
  await api?.stop();
});

const inSystem = ['--namespace', 'kube-system'];
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const pools = '/apis/cadastre.dev/v1alpha1/ippools';
const operatorPath = '/apis/apps/v1/namespaces/kube-system/deployments/cadastre-operator';

interface Definition {
  metadata: {
    name: string;
    uid: string;
    generation: number;
    annotations: Record<string, string>;
    labels?: Record<string, string>;
  };
}

const adminClient = async () =>
  new KubeClient(await loadKubeConfig({ kubeconfig: api.kubeconfigPath }), { log: silentLog });

const definition = async (name: string) =>
  (await api.call<Definition>('GET', `${definitions}/${name}`)).body;
const revisionOf = ({ metadata }: { metadata: { annotations: Record<string, string> } }) =>
  Number(metadata.annotations[revisionAnnotation]);

/** As an earlier version had them. */
const earlier = crds.map((crd) => {
  const { annotations } = crd.metadata;
  const revision = Number(annotations[revisionAnnotation]) - 1;
  const [version] = crd.spec.versions;
  const versions = [{ ...version!, additionalPrinterColumns: [] }];
  return {
    ...crd,
    metadata: { ...crd.metadata, annotations: { [revisionAnnotation]: `${revision}` } },
    spec: { ...crd.spec, versions },
  };
});

/** The chart of version 0.1.0. */
function previousChart(): string {
  const folder = join(helm.dir, 'previous');
  cpSync('test/chart/testdata/cadastre-0.1.0', folder, { recursive: true });
  const keep = { 'helm.sh/resource-policy': 'keep' };
  const kept = earlier.map((crd) => ({
    ...crd,
    metadata: { ...crd.metadata, annotations: { ...crd.metadata.annotations, ...keep } },
  }));
  writeFileSync(
    join(folder, 'templates/crds.yaml'),
    kept.map((one) => stringify(one)).join('---\n'),
  );
  return folder;
}

const pool = { metadata: { name: 'p' }, spec: { cidrs: ['10.5.0.0/16'], blockSize: { ipv4: 24 } } };
async function createPool(): Promise<string> {
  return eventually(async () => {
    const body = { apiVersion: 'cadastre.dev/v1alpha1', kind: 'IPPool', ...pool };
    const made = await api.call<{ metadata: { uid: string } }>('POST', pools, body);
    expect(made.status).toBe(201);
    return made.body.metadata.uid;
  });
}
const poolUid = async () =>
  (await api.call<{ metadata: { uid: string } }>('GET', `${pools}/p`)).body.metadata?.uid;

beforeEach(async () => {
  await helm.run('uninstall', 'cadastre', ...inSystem);
  const { body } = await api.call<{ items: Definition[] }>('GET', definitions);
  for (const { metadata } of body.items)
    await api.call('DELETE', `${definitions}/${metadata.name}`);
  // A definition that was changed a moment ago may have no storage yet ("storage is
  // (re)initializing"). The API server then tries again after ever longer pauses; a change of the
  // object makes it try at once.
  let round = 0;
  const nudge = async ({ metadata }: Definition) => {
    const body = { metadata: { annotations: { round: `${round}` } } };
    const path = `${definitions}/${metadata.name}`;
    await api.call('PATCH', path, body);
  };
  await eventually(
    async () => {
      round += 1;
      const left = await api.call<{ items: Definition[] }>('GET', definitions);
      for (const one of left.body.items) await nudge(one);
      expect(left.body.items.map(({ metadata }) => metadata.name)).toEqual([]);
    },
    { withinMs: 90_000, everyMs: 500 },
  );
}, 120_000);

test('helm upgrade from the version before upgrades definitions in place; helm uninstall keeps them', async () => {
  await helm.must('install', 'cadastre', previousChart(), ...inSystem);
  const name = 'ippools.cadastre.dev';
  const before = await definition(name);
  const uid = await createPool();

  await helm.must('upgrade', 'cadastre', chartDir, ...inSystem);
  const after = await definition(name);
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(revisionOf(after)).toBe(revisionOf(before) + 1);
  expect(await poolUid()).toBe(uid);
  for (const crd of crds) {
    expect(revisionOf(await definition(crd.metadata.name))).toBe(revisionOf(crd));
  }
  const said = await helm.must('history', 'cadastre', ...inSystem);
  expect(said).toMatch(/1\s.*superseded\s+cadastre-0\.1\.0[\s\S]*2\s.*deployed\s+cadastre-0\.2\.0/);

  const left = await helm.must('uninstall', 'cadastre', ...inSystem);
  expect(left).toContain('[CustomResourceDefinition] ippools.cadastre.dev');
  expect(await poolUid()).toBe(uid);
  expect((await api.call('GET', operatorPath)).status).toBe(404);

  // And again: what was kept is found, and still belongs to a release of that name.
  await helm.must('install', 'cadastre', chartDir, ...inSystem);
  expect(await poolUid()).toBe(uid);
}, 180_000);

test('chart and operator do not undo what the other wrote', async () => {
  const client = await adminClient();
  try {
    await helm.must('install', 'cadastre', chartDir, ...inSystem);
    const first = await definition('nodeblocks.cadastre.dev');
    // An operator that manages them, such as one outside the cluster.
    await ensureCrds(client, crds, silentLog, { revisionAnnotation });
    const second = await definition('nodeblocks.cadastre.dev');
    expect(second.metadata.generation).toBe(first.metadata.generation);
    expect(second.metadata.labels).toEqual({ 'app.kubernetes.io/managed-by': 'Helm' });
    expect(second.metadata.annotations).toEqual(first.metadata.annotations);
    await helm.must('upgrade', 'cadastre', chartDir, ...inSystem, '--set', 'operator.replicas=3');
    expect((await definition('nodeblocks.cadastre.dev')).metadata.generation).toBe(1);
    // From now on they are the operator's, and no part of the release: nothing is deleted.
    const managed = ['--set', 'crds.managedBy=operator'];
    await helm.must('upgrade', 'cadastre', chartDir, ...inSystem, ...managed);
    expect((await definition('nodeblocks.cadastre.dev')).metadata.uid).toBe(first.metadata.uid);
  } finally {
    await client.close();
  }
}, 180_000);

test('what plain manifests installed is taken over, with definitions that the operator registered', async () => {
  const client = await adminClient();
  try {
    await ensureCrds(client, earlier, silentLog, { revisionAnnotation });
  } finally {
    await client.close();
  }
  const uid = await createPool();
  const refused = await helm.run('install', 'cadastre', chartDir, ...inSystem);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain('invalid ownership metadata');
  await helm.must(
    'install',
    'cadastre',
    chartDir,
    ...inSystem,
    '--take-ownership',
    '--force-conflicts',
  );
  const { metadata } = await definition('ippools.cadastre.dev');
  expect(metadata.annotations['meta.helm.sh/release-name']).toBe('cadastre');
  const ours = crds.find((crd) => crd.metadata.name === 'ippools.cadastre.dev')!;
  expect(revisionOf({ metadata })).toBe(revisionOf(ours));
  expect(await poolUid()).toBe(uid);
}, 180_000);

test('a cluster of one node gets one replica, a larger one two', async () => {
  const replicas = async () =>
    (await api.call<{ spec: { replicas: number } }>('GET', operatorPath)).body.spec.replicas;
  const node = (name: string) => api.call('POST', '/api/v1/nodes', { metadata: { name } });
  await node('one');
  await helm.must('install', 'cadastre', chartDir, ...inSystem);
  expect(await replicas()).toBe(1);
  await node('two');
  await helm.must('upgrade', 'cadastre', chartDir, ...inSystem);
  expect(await replicas()).toBe(2);
}, 180_000);

test.each([
  ['standalone', 'kubectl get ippools,nodeblocks'],
  ['beside-cilium', 'cadastre migrate plan'],
  ['doctor', 'kubectl -n kube-system port-forward deployment/cadastre-console 7077'],
])('profile %s says what to do next', { timeout: 120_000 }, async (profile, command) => {
  const set = ['--set', `profile=${profile}`];
  const notes = await helm.must('install', 'cadastre', chartDir, ...inSystem, ...set);
  expect(notes).toContain(command);
});
