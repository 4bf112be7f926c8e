/** `cadastre version`: both sides, on an API server in this process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import { silentLog } from '../../src/base/log.ts';
import { readVersion } from '../../src/cli/version.ts';
import { fixedCredential } from '../../src/kube/access.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { crdResource, ensureCrds } from '../../src/kube/crds.ts';
import { crds } from '../../src/model/crds.ts';
import { writeOperatorReport } from '../../src/model/operator-report.ts';
import { operatorReports } from '../../src/model/resources.ts';
import { run } from './collecting-terminal.ts';

let api: ApiServer;
let client: KubeClient;
const dir = mkdtempSync(join(tmpdir(), 'cadastre-version-'));

beforeAll(async () => {
  api = await startApiServer({ dataDir: join(dir, 'data'), waitsForDisk: false });
  const { url: server, ca, token } = api;
  const credentials = fixedCredential({ authorization: `Bearer ${token}` });
  const access = { server, tls: { ca }, credentials, namespace: 'default', origin: 'the test' };
  client = new KubeClient(access);
}, 60_000);
afterAll(async () => {
  await client.close();
  await api.stop();
  rmSync(dir, { recursive: true, force: true });
});

const ask = async () => {
  const told = await run(['version', '--kubeconfig', api.kubeconfigPath, '-o', 'json']);
  expect(told.code).toBe(0);
  return { ...told, data: JSON.parse(told.stdout) };
};

test('a cluster without Cadastre has an API server, and nothing of ours', async () => {
  const { data, stderr } = await ask();
  expect(data.client).toEqual({ version: readVersion(), node: process.versions.node });
  expect(data.cluster).toMatchObject({ operator: null, agents: null });
  expect(data.cluster.apiServer).toMatch(/^v1\./);
  expect(data.cluster.definitions).toHaveLength(crds.length);
  expect(data.cluster.definitions[0].revision).toBe(null);
  expect(stderr).toContain('not read: OperatorReport: not there');
});

test('the operator that leads, and definitions of another revision', async () => {
  await ensureCrds(client, crds, silentLog);
  const spec = { mode: 'cluster-pool', version: '9.9.9', identity: 'host_1' } as const;
  await client.create(operatorReports, writeOperatorReport(spec));
  const name = 'ippools.cadastre.dev';
  const body = { metadata: { annotations: { 'cadastre.dev/schema-revision': '999' } } };
  await client.patch(crdResource, name, { type: 'merge', body });
  const { data } = await ask();
  expect(data.cluster).toMatchObject({ operator: spec, agents: [], problems: [] });
  const { stdout } = await run(['version', '--kubeconfig', api.kubeconfigPath]);
  expect(stdout).toMatch(/^operator +9\.9\.9 +mode cluster-pool, host_1$/m);
  expect(stdout).toMatch(/^definitions +ippools\.cadastre\.dev: 999 \(here: \d+\)$/m);
});

test('--client asks nobody', async () => {
  const told = await run(['version', '--client', '--kubeconfig', '/nonexistent']);
  expect(told.stdout).toMatch(/^client +\S+ +Node\.js \d+/m);
  expect([told.code, told.stderr]).toEqual([0, '']);
});
