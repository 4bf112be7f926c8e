/** The doctor on a live cluster: what it asks for, what it may not see, and that it only looks. */
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { CannedApi } from '../parts/canned-api.ts';
import { agedFixtures, countsOf, doctor } from './told.ts';

const fixtures = agedFixtures();
afterAll(() => fixtures.remove());
const system = '/api/v1/namespaces/kube-system';
let api: CannedApi;

beforeEach(async () => {
  api = await CannedApi.start(incident());
});
afterEach(() => api.stop());

/** The incident's objects at the paths where an API server has them; nothing of ours. */
function incident(): Record<string, object> {
  const read = (file: string) =>
    [...parseAllDocuments(readFileSync(fixtures.path(`incident/before/${file}`), 'utf8'))].map(
      (one) => one.toJS(),
    );
  const [config, daemonSet] = read('cilium.yaml');
  const list = (items: object[]) => ({ metadata: { resourceVersion: '7' }, items });
  return {
    '/api/v1/nodes': list(read('nodes.yaml')[0].items),
    '/apis/cilium.io/v2/ciliumnodes': list(read('ciliumnodes.json')[0].items),
    [`${system}/configmaps/cilium-config`]: config,
    '/apis/apps/v1/namespaces/kube-system/daemonsets/cilium': daemonSet,
  };
}

const look = () => doctor('--kubeconfig', api.kubeconfig);

test('a cluster with nothing of ours gives the answer that its files give', async () => {
  const { code, report } = await look();
  expect(code).toBe(1);
  expect(countsOf(report)).toEqual({ Detour: 4, SourcesDisagree: 4, SecondAllocator: 1 });
  expect(report.sources.find(({ name }) => name === 'nodes')).toMatchObject({
    ageSeconds: 0,
    kind: 'cluster',
  });
});

test('it only looks', async () => {
  await look();
  expect(api.asked.length).toBeGreaterThan(8);
  expect(api.asked.filter((one) => !one.startsWith('GET '))).toEqual([]);
});

test('who may not read a kind is told so, goes on with the rest, and hears no all-clear', async () => {
  api.answers['/apis/cilium.io/v2/ciliumnodes'] = 403;
  const { code, report } = await look();
  expect(report.findings).toEqual([]);
  expect(report.sources.find(({ name }) => name === 'ciliumnodes')).toMatchObject({
    state: 'unseen',
    note: 'CiliumNode: the API server does not let us look (forbidden)',
  });
  expect(code).toBe(3);
});

test('without Nodes there is no answer', async () => {
  api.answers['/api/v1/nodes'] = 403;
  const { code, stdout } = await look();
  expect([code, stdout]).toEqual([2, '']);
});

test('kube-controller-manager that says it allocates nothing is no second allocator', async () => {
  api.answers[`${system}/pods`] = {
    metadata: { resourceVersion: '7' },
    items: [
      {
        metadata: { name: 'kube-controller-manager-master1', namespace: 'kube-system' },
        spec: {
          containers: [{ command: ['kube-controller-manager', '--allocate-node-cidrs=false'] }],
        },
      },
    ],
  };
  const { report } = await look();
  expect(countsOf(report)).toEqual({ Detour: 4, SourcesDisagree: 4 });
});
