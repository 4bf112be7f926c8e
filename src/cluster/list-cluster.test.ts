import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../../test/cli/collecting-terminal.ts';
import { sendStatus } from '../../test/parts/fault-proxy.ts';
import { looseCrd, TestApi } from '../../test/parts/test-api.ts';
import { KubeClient } from '../kube/client.ts';
import { ciliumBgpKinds } from '../model/cluster-kinds.ts';
import { ClusterList } from './list-cluster.ts';

let api: TestApi;

beforeEach(async () => {
  api = await TestApi.start([]);
});
afterEach(() => api.stop());

const node = (name: string) => api.put(`/api/v1/nodes/${name}`);
const pool = (name: string, cidrs: string[]) =>
  api.put(`/apis/cadastre.dev/v1alpha1/ippools/${name}`, {
    spec: { cidrs, blockSize: { ipv4: 24 } },
  });
/** As an older release may have registered it: it takes what ours refuses. */
const registerPools = (version = 'v1alpha1') =>
  api.register(looseCrd({ group: 'cadastre.dev', version, plural: 'ippools', kind: 'IPPool' }));

test('a cluster without our resources or Cilium is looked at all the same', async () => {
  node('a');
  const { code, stdout, stderr } = await run(['nodes', '-v', '--kubeconfig', api.kubeconfig]);
  expect(code).toBe(0);
  expect(stdout).toContain('NoPoolSelectsNode');
  expect(stderr).toContain('no ippools, no nodeblocks');
  expect(stderr).toContain('1 nodes');
});

test('lists are read page by page, only read, and nodes last', async () => {
  const names = Array.from({ length: 501 }, (_, at) => `n${1000 + at}`);
  names.forEach(node);
  await registerPools();
  pool('p', ['10.0.0.0/8']);
  const { stdout } = await run(['plan', '--kubeconfig', api.kubeconfig, '-o', 'json']);
  expect(JSON.parse(stdout).nodes.map(({ name }: { name: string }) => name)).toEqual(names);
  expect(api.asked.every(({ method }) => method === 'GET')).toBe(true);
  const pages = api.asked.slice(-2);
  expect(pages.map(({ path }) => path)).toEqual(['/api/v1/nodes', '/api/v1/nodes']);
  expect(pages.map(({ query }) => query.has('continue'))).toEqual([false, true]);
});

test('a pool that cannot be understood is a finding, and the others serve', async () => {
  node('a');
  await registerPools();
  pool('bad', ['10.1.0.7/16']);
  pool('good', ['10.0.0.0/16']);
  const { code, stdout } = await run(['plan', '--kubeconfig', api.kubeconfig, '-o', 'json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).findings).toEqual([
    {
      reason: 'MalformedPool',
      nodes: [],
      cidr: '',
      detail: 'IPPool bad: spec.cidrs[0] "10.1.0.7/16" has host bits set; the block is 10.1.0.0/16',
    },
  ]);
  const { stderr } = await run(['pools', '--kubeconfig', api.kubeconfig]);
  expect(stderr).toContain('warning: IPPool bad: spec.cidrs[0]');
});

test('what may not be read is a failure, not an empty list', async () => {
  node('a');
  api.intercept = ({ path }, response) => {
    if (path !== '/apis/cilium.io/v2/ciliumnodes') return false;
    sendStatus(response, 403, 'Forbidden');
    return true;
  };
  const { code, stdout, stderr } = await run(['plan', '--kubeconfig', api.kubeconfig]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^cadastre: GET \/apis\/cilium\.io\/v2\/ciliumnodes.* was answered 403/);
});

test('our resources in another version are not taken for none', async () => {
  node('a');
  await registerPools('v2');
  const { code, stdout, stderr } = await run(['nodes', '--kubeconfig', api.kubeconfig]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('the cluster has cadastre.dev in v2; this cadastre knows v1alpha1');
});

test('a node that does not exist cannot be drained, and it is said in a sentence', async () => {
  const { code, stderr } = await run(['drain', 'nope', '--kubeconfig', api.kubeconfig]);
  expect(code).toBe(1);
  expect(stderr).toContain('cadastre: there is no Node nope');
});

test.each(['v2alpha1', 'v2'])(
  'BGP objects of Cilium are found where it serves %s',
  async (version) => {
    const group = 'cilium.io';
    const plural = 'ciliumbgpclusterconfigs';
    await api.register(looseCrd({ group, version, plural, kind: 'CiliumBGPClusterConfig' }));
    api.put(`/apis/${group}/${version}/${plural}/rack1`, {
      spec: { bgpInstances: [{ name: 'main', peers: [{ name: 'tor1' }] }] },
    });
    const client = new KubeClient(api.access());
    try {
      const list = new ClusterList(client, { origin: '', isLenient: true });
      await list.readAll(ciliumBgpKinds);
      const { items } = list.result();
      expect([...(items.ciliumBgpClusterConfigs ?? [])]).toMatchObject([
        { name: 'rack1', nodeSelector: { kind: 'all' }, peers: [{ name: 'tor1' }] },
      ]);
      expect(items.ciliumBgpPeerConfigs).toEqual([]);
    } finally {
      await client.close();
    }
  },
);
