import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../../test/cli/collecting-terminal.ts';
import { CannedApi } from '../../test/parts/canned-api.ts';

let api: CannedApi;

beforeEach(async () => {
  api = await CannedApi.start();
});
afterEach(() => api.stop());

const node = (name: string) => ({ metadata: { name } });
const pool = (name: string, cidrs: string[]) => ({
  metadata: { name },
  spec: { cidrs, blockSize: { ipv4: 24 } },
});
const pools = '/apis/cadastre.dev/v1alpha1/ippools';

test('a cluster without our resources or Cilium is looked at all the same', async () => {
  api.answers['/api/v1/nodes'] = [[node('a')]];
  const { code, stdout, stderr } = await run(['nodes', '-v', '--kubeconfig', api.kubeconfig]);
  expect(code).toBe(0);
  expect(stdout).toContain('NoPoolSelectsNode');
  expect(stderr).toContain('no ippools, no nodeblocks');
  expect(stderr).toContain('1 nodes');
});

test('lists are read page by page, only read, and nodes last', async () => {
  api.answers['/api/v1/nodes'] = [[node('a'), node('b')], [node('c')]];
  api.answers[pools] = [[pool('p', ['10.0.0.0/16'])]];
  const { stdout } = await run(['plan', '--kubeconfig', api.kubeconfig, '-o', 'json']);
  expect(JSON.parse(stdout).nodes.map(({ name }: { name: string }) => name)).toEqual([
    'a',
    'b',
    'c',
  ]);
  expect(api.asked.every((line) => line.startsWith('GET '))).toBe(true);
  expect(api.asked.slice(-2)).toEqual(['GET /api/v1/nodes', 'GET /api/v1/nodes']);
});

test('a pool that cannot be understood is a finding, and the others serve', async () => {
  api.answers['/api/v1/nodes'] = [[node('a')]];
  api.answers[pools] = [[pool('bad', ['10.1.0.7/16']), pool('good', ['10.0.0.0/16'])]];
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
  api.answers['/api/v1/nodes'] = [[node('a')]];
  api.answers['/apis/cilium.io/v2/ciliumnodes'] = 403;
  const { code, stdout, stderr } = await run(['plan', '--kubeconfig', api.kubeconfig]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^cadastre: GET \/apis\/cilium\.io\/v2\/ciliumnodes.* was answered 403/);
});

test('our resources in another version are not taken for none', async () => {
  api.answers['/api/v1/nodes'] = [[node('a')]];
  api.answers['/apis/cadastre.dev'] = { versions: [{ version: 'v2' }] };
  const { code, stdout, stderr } = await run(['nodes', '--kubeconfig', api.kubeconfig]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('the cluster has cadastre.dev in v2; this cadastre knows v1alpha1');
});

test('a node that does not exist cannot be drained, and it is said in a sentence', async () => {
  const { code, stderr } = await run(['drain', 'nope', '--kubeconfig', api.kubeconfig]);
  expect(code).toBe(1);
  expect(stderr).toContain('cadastre: there is no Node nope');
});
