/** The doctor on a live cluster: what it asks for, what it may not see, and that it only looks. */
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/model/object.ts';
import { sendStatus } from '../parts/fault-proxy.ts';
import { looseCrd, TestApi } from '../parts/test-api.ts';
import { agedFixtures, countsOf, doctor } from './told.ts';

const fixtures = agedFixtures();
afterAll(() => fixtures.remove());
let api: TestApi;

beforeEach(async () => {
  const cilium = { group: 'cilium.io', version: 'v2', plural: 'ciliumnodes', kind: 'CiliumNode' };
  api = await TestApi.start([looseCrd(cilium)]);
  putIncident();
});
afterEach(() => api.stop());

/** The incident's objects; nothing of ours. */
function putIncident(): void {
  const read = (file: string) =>
    [...parseAllDocuments(readFileSync(fixtures.path(`incident/before/${file}`), 'utf8'))].map(
      (one) => one.toJS(),
    );
  const putAll = (path: string, items: KubeObject[]) => {
    for (const item of items) api.put(`${path}/${item.metadata?.name}`, fresh(item));
  };
  const [config, daemonSet] = read('cilium.yaml');
  putAll('/api/v1/nodes', read('nodes.yaml')[0].items);
  putAll('/apis/cilium.io/v2/ciliumnodes', read('ciliumnodes.json')[0].items);
  putAll('/api/v1/namespaces/kube-system/configmaps', [config]);
  putAll('/apis/apps/v1/namespaces/kube-system/daemonsets', [daemonSet]);
}

/** As one would write it: without what the API server fills in. */
function fresh({ metadata, ...rest }: KubeObject): KubeObject {
  const { labels, annotations } = metadata ?? {};
  return { ...rest, metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } };
}

const forbid = (forbidden: string) => {
  api.intercept = ({ path }, response) => {
    if (path !== forbidden) return false;
    sendStatus(response, 403, 'Forbidden');
    return true;
  };
};

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
  expect(api.asked.filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('who may not read a kind is told so, goes on with the rest, and hears no all-clear', async () => {
  forbid('/apis/cilium.io/v2/ciliumnodes');
  const { code, report } = await look();
  expect(report.findings).toEqual([]);
  expect(report.sources.find(({ name }) => name === 'ciliumnodes')).toMatchObject({
    state: 'unseen',
    note: 'CiliumNode: the API server does not let us look (forbidden)',
  });
  expect(code).toBe(3);
});

describe('with the BGP control plane of Cilium on', () => {
  const objects = '/apis/cilium.io/v2alpha1/ciliumbgp';
  const bgp = () =>
    api.put('/api/v1/namespaces/kube-system/configmaps/cilium-config', {
      data: { ipam: 'cluster-pool', 'enable-bgp-control-plane': 'true' },
    });
  const source = (report: Awaited<ReturnType<typeof look>>['report']) =>
    report.sources.find(({ name }) => name === 'cilium-bgp');

  test('BGP objects that the cluster does not have are none', async () => {
    bgp();
    expect(source((await look()).report)).toBeUndefined();
  });

  test('those that may not be read are not none: the sources name them', async () => {
    bgp();
    api.intercept = ({ path }, response) => {
      if (!path.includes('/ciliumbgp')) return false;
      sendStatus(response, 403, 'Forbidden');
      return true;
    };
    const { code, report } = await look();
    expect(source(report)).toMatchObject({ state: 'unseen', holds: 'nothing' });
    expect(source(report)?.note).toContain(
      'CiliumBGPAdvertisement: the API server does not let us look (forbidden)',
    );
    expect(code).not.toBe(0);
    forbid(`${objects}peeringpolicies`);
    expect(source((await look()).report)).toMatchObject({
      state: 'partly',
      holds: 'without CiliumBGPPeeringPolicy',
    });
  });

  test('of a Cilium that has no CiliumBGPPeeringPolicy it is not missed', async () => {
    bgp();
    forbid(`${objects}peeringpolicies`);
    const { report } = await doctor('--kubeconfig', api.kubeconfig, '--cilium-version', '1.19');
    expect(source(report)).toBeUndefined();
  });
});

test('without Nodes there is no answer', async () => {
  forbid('/api/v1/nodes');
  const { code, stdout } = await look();
  expect([code, stdout]).toEqual([2, '']);
});

test('kube-controller-manager that says it allocates nothing is no second allocator', async () => {
  const command = ['kube-controller-manager', '--allocate-node-cidrs=false'];
  api.put('/api/v1/namespaces/kube-system/pods/kube-controller-manager-master1', {
    metadata: { labels: { component: 'kube-controller-manager' } },
    spec: { containers: [{ name: 'kube-controller-manager', image: 'kube', command }] },
  });
  const { report } = await look();
  expect(countsOf(report)).toEqual({ Detour: 4, SourcesDisagree: 4 });
});
