/**
 * A rollout of the operator comes to its end with as many nodes as replicas. The scheduler and
 * the controllers of Deployments are real; the test does what kubelets would.
 */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ensureClusterParts } from '../../scripts/parts.mjs';
import { type ApiServer, startApiServer } from '../parts/apiserver.ts';
import { type ControllerManager, startControllerManager } from '../parts/controller-manager.ts';
import { freePort } from '../parts/free-port.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually, pause } from '../world/eventually.ts';
import { chartDir, Helm } from './helm.ts';

let api: ApiServer;
let helm: Helm;
let controllers: ControllerManager;
let scheduler: PartProcess;
let kubelets: { end(): Promise<void> };

beforeAll(async () => {
  api = await startApiServer();
  helm = new Helm(api.kubeconfigPath);
  controllers = await startControllerManager(api, {
    clusterCidrs: ['10.244.0.0/16'],
    controllers: ['deployment-controller', 'replicaset-controller'],
  });
  scheduler = startPart({
    name: 'kube-scheduler',
    binary: join(await ensureClusterParts(), 'kube-scheduler'),
    args: [
      `--kubeconfig=${api.kubeconfigPath}`,
      ...['--leader-elect=false', '--bind-address=127.0.0.1'],
      `--secure-port=${await freePort()}`,
    ],
    logFile: join(api.dir, 'kube-scheduler.log'),
    dir: api.dir,
  });
}, 180_000);

afterAll(async () => {
  await scheduler?.stop();
  await controllers?.stop();
  helm?.end();
  await api?.stop();
});

beforeEach(() => {
  kubelets = playKubelets();
});
afterEach(async () => {
  await helm.run('uninstall', 'cadastre', ...inSystem);
  // No garbage collector runs here.
  await api.call('DELETE', '/apis/apps/v1/namespaces/kube-system/replicasets');
  await api.call('DELETE', pods);
  await eventually(async () => expect(await podsNow()).toEqual([]));
  await kubelets.end();
  await api.call('DELETE', '/api/v1/nodes');
}, 120_000);

const inSystem = ['--namespace', 'kube-system'];
const pods = '/api/v1/namespaces/kube-system/pods';
const operatorPath = '/apis/apps/v1/namespaces/kube-system/deployments/cadastre-operator';

interface Pod {
  metadata: { name: string; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { phase: string };
}

const podsNow = async () => (await api.call<{ items: Pod[] }>('GET', pods)).body.items;

/** What is bound to a node runs; what is to go is gone. */
function playKubelets(): { end(): Promise<void> } {
  let isOver = false;
  const round = async () => {
    for (const { metadata, spec, status } of await podsNow()) {
      const path = `${pods}/${metadata.name}`;
      if (metadata.deletionTimestamp !== undefined) {
        await api.call('DELETE', `${path}?gracePeriodSeconds=0`);
      } else if (spec.nodeName !== undefined && status.phase === 'Pending') {
        const conditions = [{ type: 'Ready', status: 'True' }];
        await api.call('PATCH', `${path}/status`, { status: { phase: 'Running', conditions } });
      }
    }
  };
  const running = (async () => {
    while (!isOver) {
      await round();
      await pause(50);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await running;
    },
  };
}

async function addNode(name: string): Promise<void> {
  const capacity = { cpu: '4', memory: '8Gi', pods: '110' };
  const labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name };
  await api.call('POST', '/api/v1/nodes', { metadata: { name, labels } });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = { capacity, allocatable: capacity, conditions };
  await api.call('PATCH', `/api/v1/nodes/${name}/status`, { status });
}

/** All replicas are of the newest template, and run. */
const whenRolledOut = (replicas: number) =>
  eventually(
    async () => {
      const { body } = await api.call<{ metadata: { generation: number }; status: object }>(
        'GET',
        operatorPath,
      );
      expect(body.status).toMatchObject({
        observedGeneration: body.metadata.generation,
        replicas,
        updatedReplicas: replicas,
        availableReplicas: replicas,
      });
    },
    { withinMs: 60_000 },
  );

test.each([
  { nodes: 1, asked: {}, replicas: 1 },
  { nodes: 2, asked: {}, replicas: 2 },
  { nodes: 3, asked: { operator: { replicas: 3 } }, replicas: 3 },
])('on $nodes nodes', { timeout: 180_000 }, async ({ nodes, asked, replicas }) => {
  for (let i = 1; i <= nodes; i += 1) await addNode(`node${i}`);
  await helm.must('install', 'cadastre', chartDir, ...inSystem, ...helm.values(asked));
  await whenRolledOut(replicas);
  const changed = { operator: { ...asked.operator, podAnnotations: { version: 'next' } } };
  await helm.must('upgrade', 'cadastre', chartDir, ...inSystem, ...helm.values(changed));
  await whenRolledOut(replicas);
  const where = (await podsNow()).map(({ spec }) => spec.nodeName);
  expect(new Set(where).size).toBe(replicas);
});
