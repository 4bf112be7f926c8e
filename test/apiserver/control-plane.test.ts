/**
 * A real kube-controller-manager and a real kube-scheduler on the embedded API
 * server: what is asked for becomes pods, pods get nodes, Services get
 * endpoints. The kubelet's part, to say that a pod runs, is done by the test.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureClusterParts, ensureKubeParts } from '../../scripts/parts.mjs';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import { freePort } from '../parts/free-port.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { type Body, callOn } from './server.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-control-plane-'));
const parts: PartProcess[] = [];
let api: ApiServer;

const call = (method: string, path: string, body?: unknown) => callOn(api, method, path, body);
const itemsOf = async (path: string): Promise<Body[]> => (await call('GET', path)).body.items;
const waiting = { timeout: 90_000, interval: 250 };

async function startPlane(folder: string, name: string, flags: string[]): Promise<void> {
  const part = startPart({
    name,
    binary: join(folder, name),
    args: [
      `--kubeconfig=${api.kubeconfigPath}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${await freePort()}`,
      `--cert-dir=${dir}`,
      ...flags,
    ],
    logFile: join(dir, `${name}.log`),
    dir,
  });
  parts.push(part);
}

async function createNode(name: string): Promise<void> {
  const lastHeartbeatTime = `${new Date().toISOString().slice(0, 19)}Z`;
  const capacity = { cpu: '4', memory: '8Gi', pods: '110' };
  const { status, body } = await call('POST', '/api/v1/nodes', {
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    status: {
      capacity,
      allocatable: capacity,
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime }],
      addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
    },
  });
  expect(status, body.message).toBe(201);
}

/** As a kubelet would say it. */
async function run(pod: Body, podIP: string): Promise<void> {
  const conditions = ['Ready', 'ContainersReady', 'Initialized', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
  }));
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
  await call('PATCH', `/api/v1/namespaces/default/pods/${pod.metadata.name}/status`, { status });
}

beforeAll(async () => {
  api = await startApiServer({ dataDir: join(dir, 'cluster'), waitsForDisk: false });
  for (const name of ['node-a', 'node-b']) await createNode(name);
  await startPlane(await ensureKubeParts(), 'kube-controller-manager', [
    '--controllers=*,-node-lifecycle-controller,-node-ipam-controller',
  ]);
  await startPlane(await ensureClusterParts(), 'kube-scheduler', []);
}, 600_000);

afterAll(async () => {
  for (const part of parts) await part.stop();
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const template = {
  metadata: { labels: { app: 'web' } },
  spec: {
    containers: [{ name: 'web', image: 'registry.example/web:1', ports: [{ containerPort: 80 }] }],
  },
};
const pods = '/api/v1/namespaces/default/pods?labelSelector=app%3Dweb';
const deployments = '/apis/apps/v1/namespaces/default/deployments';

test('a Deployment becomes pods on nodes, and a Service finds them', async () => {
  const { status, body } = await call('POST', deployments, {
    metadata: { name: 'web' },
    spec: { replicas: 4, selector: { matchLabels: { app: 'web' } }, template },
  });
  expect(status, body.message).toBe(201);
  await call('POST', '/api/v1/namespaces/default/services', {
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  await expect
    .poll(async () => (await itemsOf(pods)).filter(({ spec }) => spec.nodeName).length, waiting)
    .toBe(4);
  const bound = await itemsOf(pods);
  expect(new Set(bound.map(({ spec }) => spec.nodeName))).toEqual(new Set(['node-a', 'node-b']));
  for (const [at, pod] of bound.entries()) await run(pod, `10.1.0.${at + 1}`);
  await expect
    .poll(async () => (await call('GET', `${deployments}/web`)).body.status.readyReplicas, waiting)
    .toBe(4);
  const slices =
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dweb';
  const addresses = async () =>
    (await itemsOf(slices))
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions.ready)
      .flatMap((endpoint) => endpoint.addresses)
      .sort();
  await expect.poll(addresses, waiting).toEqual(['10.1.0.1', '10.1.0.2', '10.1.0.3', '10.1.0.4']);
}, 200_000);

test('scaled to none, the pods go', async () => {
  const scale = { spec: { replicas: 0 } };
  expect((await call('PATCH', `${deployments}/web/scale`, scale)).status).toBe(200);
  const left = async () =>
    (await itemsOf(pods)).filter(({ metadata }) => !metadata.deletionTimestamp).length;
  await expect.poll(left, waiting).toBe(0);
}, 200_000);

test('a DaemonSet and a Job make theirs', async () => {
  await call('POST', '/apis/apps/v1/namespaces/default/daemonsets', {
    metadata: { name: 'every' },
    spec: {
      selector: { matchLabels: { app: 'every' } },
      template: { ...template, metadata: { labels: { app: 'every' } } },
    },
  });
  await call('POST', '/apis/batch/v1/namespaces/default/jobs', {
    metadata: { name: 'once' },
    spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } },
  });
  const bound = async (label: string) =>
    (
      await itemsOf(`/api/v1/namespaces/default/pods?labelSelector=${encodeURIComponent(label)}`)
    ).filter(({ spec }) => spec.nodeName).length;
  await expect.poll(() => bound('app=every'), waiting).toBe(2);
  await expect.poll(() => bound('batch.kubernetes.io/job-name=once'), waiting).toBe(1);
}, 200_000);
