import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../../test/cli/collecting-door.ts';

/** An API server of canned lists: a path that is not there is a 404, as for a missing CRD. */
let lists: Record<string, { status?: number; items?: object[]; pages?: object[][] }>;
let asked: string[];
let server: Server;
let dir: string;
let kubeconfig: string;

beforeEach(async () => {
  lists = {};
  asked = [];
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    asked.push(`${request.method} ${url.pathname}`);
    const list = lists[url.pathname];
    const status = list === undefined ? 404 : (list.status ?? 200);
    const pages = list?.pages ?? [list?.items ?? []];
    const page = Number(url.searchParams.get('continue') ?? 0);
    const token = page + 1 < pages.length ? String(page + 1) : '';
    const body =
      status === 200
        ? { metadata: { resourceVersion: '7', continue: token }, items: pages[page] }
        : { kind: 'Status', status: 'Failure', code: status, reason: 'Nope', message: 'no' };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  dir = mkdtempSync(join(tmpdir(), 'cadastre-view-'));
  kubeconfig = join(dir, 'kubeconfig');
  const { port } = server.address() as AddressInfo;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'here' } }],
      clusters: [{ name: 'here', cluster: { server: `http://127.0.0.1:${port}` } }],
    }),
  );
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true, force: true });
});

const node = (name: string) => ({ metadata: { name } });
const pool = (name: string, cidrs: string[]) => ({
  metadata: { name },
  spec: { cidrs, blockSize: { ipv4: 24 } },
});
const pools = '/apis/cadastre.dev/v1alpha1/ippools';

test('a cluster without our resources or Cilium is looked at all the same', async () => {
  lists['/api/v1/nodes'] = { items: [node('a')] };
  const { code, stdout, stderr } = await run(['nodes', '-v', '--kubeconfig', kubeconfig]);
  expect(code).toBe(0);
  expect(stdout).toContain('NoPoolSelectsNode');
  expect(stderr).toContain('no ippools, no nodeblocks');
  expect(stderr).toContain('1 nodes');
});

test('lists are read page by page, only read, and nodes last', async () => {
  lists['/api/v1/nodes'] = { pages: [[node('a'), node('b')], [node('c')]] };
  lists[pools] = { items: [pool('p', ['10.0.0.0/16'])] };
  const { stdout } = await run(['plan', '--kubeconfig', kubeconfig, '-o', 'json']);
  expect(JSON.parse(stdout).nodes.map(({ name }: { name: string }) => name)).toEqual([
    'a',
    'b',
    'c',
  ]);
  expect(asked.every((line) => line.startsWith('GET '))).toBe(true);
  expect(asked.slice(-2)).toEqual(['GET /api/v1/nodes', 'GET /api/v1/nodes']);
});

test('a pool that cannot be understood is a finding, and the others serve', async () => {
  lists['/api/v1/nodes'] = { items: [node('a')] };
  lists[pools] = { items: [pool('bad', ['10.1.0.7/16']), pool('good', ['10.0.0.0/16'])] };
  const { code, stdout } = await run(['plan', '--kubeconfig', kubeconfig, '-o', 'json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).findings).toEqual([
    {
      reason: 'MalformedPool',
      nodes: [],
      cidr: '',
      detail: 'IPPool bad: spec.cidrs[0] "10.1.0.7/16" has host bits set; the block is 10.1.0.0/16',
    },
  ]);
  const { stderr } = await run(['pools', '--kubeconfig', kubeconfig]);
  expect(stderr).toContain('warning: IPPool bad: spec.cidrs[0]');
});

test('what may not be read is a failure, not an empty list', async () => {
  lists['/api/v1/nodes'] = { items: [node('a')] };
  lists['/apis/cilium.io/v2/ciliumnodes'] = { status: 403 };
  const { code, stdout, stderr } = await run(['plan', '--kubeconfig', kubeconfig]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^cadastre: GET \/apis\/cilium\.io\/v2\/ciliumnodes.* was answered 403/);
});
