/**
 * The console as a cluster has it: served by the operator, on every address, with
 * the rights that the chart gives with operator.console.enabled and nothing else.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RowKind, Rows, StateMessage } from '../../src/console/rows.ts';
import { accountOf } from './account.ts';
import { Cluster, shortLease } from './cluster.ts';
import { eventually } from './eventually.ts';
import type { OperatorProcess } from './operator-process.ts';

const withConsole = 'test/world/testdata/operator-with-console.yaml';
const token = 'a-token-that-nobody-guesses';
let cluster: Cluster;
let kubeconfigPath: string;
let operator: OperatorProcess;
let url: string;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCiliumNodes();
  // A Cilium that announces Node.spec.podCIDRs, whatever its pods use.
  await cluster.must('POST', '/api/v1/namespaces/kube-system/configmaps', {
    metadata: { name: 'cilium-config' },
    data: { ipam: 'kubernetes', 'bgp-announce-pod-cidr': 'true' },
  });
  const labels = { app: 'cilium' };
  await cluster.must('POST', '/apis/apps/v1/namespaces/kube-system/daemonsets', {
    metadata: { name: 'cilium' },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'cilium-agent', image: 'quay.io/cilium/cilium:v1.11.4' }] },
      },
    },
  });
  kubeconfigPath = await accountOf(cluster, withConsole, 'cadastre-operator');
  const tokenFile = cluster.writeFile('token', `${token}\n`);
  operator = await cluster.operator(
    [...shortLease, '--console=0.0.0.0:0', `--console-token-file=${tokenFile}`],
    { kubeconfigPath },
  );
  const said = await operator.whenLogged(
    ({ msg }) => msg === 'console listening',
    'console listening',
  );
  url = `http://127.0.0.1:${new URL(String(said.address)).port}`;
  await operator.whenLeading();
  await cluster.createPool('p', {
    cidrs: ['10.0.0.0/22'],
    blockSize: { ipv4: 24 },
    nodeSelector: { matchLabels: { rack: '1' } },
  });
  await cluster.createNode('a', { labels: { rack: '1' }, addresses: ['10.4.94.1'] });
  // One after the other: which node has which block is told below.
  await eventually(async () => expect(await cluster.blocks()).toHaveLength(1));
  await cluster.createNode('b', { labels: { rack: '1' }, addresses: ['10.4.94.2'] });
  await cluster.createNode('unserved');
}, 120_000);

afterAll(() => cluster?.stop());

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`${url}${path}`, {
    redirect: 'manual',
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  });

async function rows<K extends RowKind>(kind: K): Promise<Rows[K][]> {
  const { changes } = (await (await ask('/api/state')).json()) as StateMessage;
  return changes.filter(([is]) => is === kind).map(([, , row]) => row as Rows[K]);
}

describe('who may look', () => {
  test('without a file for the token it does not start beyond loopback, and says what to do', async () => {
    const refused = await cluster.operator(['--console=0.0.0.0:0'], { kubeconfigPath });
    await eventually(() => expect(refused.ended).toBe('exit 2'));
    expect(refused.tail()).toContain('a console on 0.0.0.0 needs --console-token-file');
    expect(refused.tail()).toContain('listen on 127.0.0.1');
  });

  test('nobody without the token; the address with the token becomes a cookie', async () => {
    for (const path of ['/', '/api/state', '/api/events', '/api/nodes/a', '/assets/app.js']) {
      const answer = await fetch(`${url}${path}`, { headers: { authorization: 'Bearer wrong' } });
      expect([path, answer.status]).toEqual([path, 401]);
      expect(await answer.text()).toContain('?token=');
    }
    const entered = await fetch(`${url}/space?token=${token}`, { redirect: 'manual' });
    const cookie = entered.headers.get('set-cookie') ?? '';
    expect(entered.headers.get('location')).toBe('/space');
    expect(cookie).toMatch(/HttpOnly/i);
    const page = await fetch(`${url}/space`, { headers: { cookie: cookie.split(';')[0]! } });
    expect(page.status).toBe(200);
  });

  test('probes carry none, and learn nothing but whether it is ready', async () => {
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));
    expect((await fetch(`${url}/livez`)).status).toBe(200);
  });

  test('it only looks: whatever would change something is refused in words', async () => {
    const headers = { origin: url, 'content-type': 'application/json' };
    const answer = await ask('/api/try/drain', { method: 'POST', headers, body: '{"node":"a"}' });
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain('this console only looks');
  });
});

describe('what it shows', () => {
  test('the page, with what it needs and nothing from elsewhere', async () => {
    const page = await ask('/consistency');
    const html = await page.text();
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    const parts = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, part]) => part!);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts.filter((one) => !one.startsWith('data:'))) {
      expect(part).toMatch(/^\/assets\//);
      expect([part, (await ask(part)).status]).toEqual([part, 200]);
    }
  });

  test('pools, blocks and nodes as the cluster has them, and why', async () => {
    await eventually(async () => {
      expect((await rows('block')).map(({ cidr, node }) => `${cidr} ${node}`).sort()).toEqual([
        '10.0.0.0/24 a',
        '10.0.1.0/24 b',
      ]);
      const [pool] = await rows('pool');
      expect(pool).toMatchObject({ name: 'p', state: 'Ready', cidrs: [{ assigned: 2 }] });
      const unserved = (await rows('node')).find(({ name }) => name === 'unserved');
      expect(unserved?.blocksState).toMatchObject({ ok: false, reason: 'NoPoolSelectsNode' });
    });
    const [meta] = await rows('meta');
    expect(meta).toMatchObject({ mode: 'ip-pool', tryIt: null });
    expect(meta?.sources.filter(({ isSeen }) => !isSeen)).toEqual([]);
    const detail = await ask('/api/nodes/a');
    expect(await detail.json()).toMatchObject({ node: 'a', pool: 'p' });
  });

  test('Time tells the history of blocks and the warnings, by their reasons', async () => {
    await eventually(async () => {
      const told = (await rows('entry')).map(({ reason, node }) => `${reason} ${node}`);
      expect(told).toContain('Assigned a');
      expect(told).toContain('NoPoolSelectsNode unserved');
    });
  });

  test('a change is heard on the stream; the incident is found, because Cilium was asked', async () => {
    const { at } = (await (await ask('/api/state')).json()) as StateMessage;
    const leaving = new AbortController();
    const answer = await ask(`/api/events?from=${encodeURIComponent(at)}`, {
      signal: leaving.signal,
    });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const heard = readAll(answer);
    // The second allocator: each gets the other's block.
    await cluster.patchNode('a', { spec: { podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.1.0/24'] } });
    await cluster.patchNode('b', { spec: { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] } });
    await eventually(() => {
      const told = heard.text.match(/"finding","Detour[^"]*"/g) ?? [];
      expect(told.length, heard.text.slice(-2000)).toBeGreaterThanOrEqual(2);
    });
    expect(heard.text).toMatch(/^id: \w+:\d+$/m);
    leaving.abort();
    await heard.end;
    const answered = await ask('/api/whatif?drain=a');
    expect(await answered.text()).toContain('10.0.1.0/24');
  });

  test('nothing was refused to the account of the operator', () => {
    const words = operator
      .logged(({ level }) => level !== 'debug' && level !== 'info')
      .map((line) => JSON.stringify(line));
    expect(words.filter((line) => /403|forbidden/i.test(line))).toEqual([]);
  });
});

function readAll(answer: Response): { text: string; end: Promise<void> } {
  const heard = { text: '', end: Promise.resolve() };
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of answer.body!) heard.text += decoder.decode(chunk, { stream: true });
  };
  heard.end = read().catch((error) => {
    if (error.name !== 'AbortError') throw error;
  });
  return heard;
}
