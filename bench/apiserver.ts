/**
 * The embedded API server by itself, on loopback with TLS and every write on disk:
 *
 * - create: 5,000 Nodes, 32 at once.
 * - list: all of them in one answer, and read by the client.
 * - watch: 100 watchers hear 200 changes; from the first write to the last event.
 * - idle: 500 nodes with a heartbeat every ten seconds each (a Lease, and the
 *   Node's status every fifth time, as a kubelet does): the share of one core.
 *
 * The ratio is the idle share of one core over the 5 % that are allowed.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { startEmbeddedApiServer } from '../test/parts/embedded-apiserver.ts';

const NODES = 5_000;
const WATCHERS = 100;
const CHANGES = 200;
const IDLE_NODES = 500;
const IDLE_SECONDS = 30;

const server = await startEmbeddedApiServer({ fsync: true });
const agent = new Agent({ keepAlive: true, maxSockets: 32 });

function call(method: string, path: string, body?: unknown): Promise<string> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${server.token}`,
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    ...(text === undefined ? {} : { 'content-length': Buffer.byteLength(text) }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${server.url}${path}`,
      { method, headers, ca: server.ca, agent },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk) => chunks.push(chunk));
        incoming.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          if ((incoming.statusCode ?? 500) < 300) resolve(answer);
          else
            reject(new Error(`${method} ${path}: ${incoming.statusCode} ${answer.slice(0, 300)}`));
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

async function inParallel(count: number, atOnce: number, work: (at: number) => Promise<unknown>) {
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) await work(next++);
    }),
  );
}

/** As large as a kubelet makes it, without images. */
const node = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', rack: '83' },
    annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
  },
  status: {
    capacity: { cpu: '8', memory: '32Gi', pods: '110' },
    addresses: [
      { type: 'InternalIP', address: '10.4.94.32' },
      { type: 'Hostname', address: name },
    ],
    conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
      type,
      status: type === 'Ready' ? 'True' : 'False',
      reason: `Kubelet${type}`,
      message: `kubelet says ${type}`,
      lastHeartbeatTime: '2026-01-01T00:00:00Z',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })),
  },
});

/** Seconds of processor time the server has used, from the kernel. */
function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${server.pids.apiServer}/stat`, 'utf8')
    .split(') ')[1]
    ?.split(' ');
  return (Number(fields?.[11]) + Number(fields?.[12])) / 100;
}

function memoryMb(): number {
  const status = readFileSync(`/proc/${server.pids.apiServer}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

const ms = (from: number) => performance.now() - from;
const name = (at: number) => `node-${String(at).padStart(5, '0')}`;

let began = performance.now();
await inParallel(NODES, 32, (at) => call('POST', '/api/v1/nodes', node(name(at))));
console.log(
  `create  ${NODES} Nodes in ${ms(began).toFixed(0)} ms, ${((NODES / ms(began)) * 1000).toFixed(0)}/s`,
);

const lists: number[] = [];
for (let turn = 0; turn < 5; turn++) {
  began = performance.now();
  const { items } = JSON.parse(await call('GET', '/api/v1/nodes'));
  if (items.length !== NODES) throw new Error(`${items.length} listed`);
  lists.push(ms(began));
}
lists.sort((a, b) => a - b);
console.log(
  `list    ${NODES} Nodes in ${lists[2]?.toFixed(0)} ms [${lists[0]?.toFixed(0)}–${lists[4]?.toFixed(0)}], ${memoryMb().toFixed(0)} MB`,
);

const heard = await watchers();
began = performance.now();
const cpuBefore = cpuSeconds();
await inParallel(CHANGES, 8, (at) =>
  call('PATCH', `/api/v1/nodes/${name(at)}`, { metadata: { labels: { turn: String(at) } } }),
);
await heard.all;
console.log(
  `watch   ${WATCHERS} watchers heard ${CHANGES} changes each in ${ms(began).toFixed(0)} ms, ${(cpuSeconds() - cpuBefore).toFixed(2)} s of one core`,
);
heard.stop();

await inParallel(NODES - IDLE_NODES, 32, (at) =>
  call('DELETE', `/api/v1/nodes/${name(at + IDLE_NODES)}`),
);
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const lease = (at: number, renewTime: string) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: name(at) },
  spec: { holderIdentity: name(at), leaseDurationSeconds: 40, renewTime },
});
await inParallel(IDLE_NODES, 32, (at) =>
  call('POST', leases, lease(at, '2026-01-01T00:00:00.000000Z')),
);
const cpuIdle = cpuSeconds();
began = performance.now();
let beats = 0;
const timers = Array.from({ length: IDLE_NODES }, (_, at) =>
  setInterval(
    () => {
      const now = new Date().toISOString();
      beats += 1;
      void call('PATCH', `${leases}/${name(at)}`, {
        spec: { renewTime: `${now.slice(0, -1)}000Z` },
      });
      if (beats % 5 !== 0) return;
      const conditions = node(name(at)).status.conditions.map((each) => ({
        ...each,
        lastHeartbeatTime: `${now.slice(0, 19)}Z`,
      }));
      void call('PATCH', `/api/v1/nodes/${name(at)}/status`, { status: { conditions } });
    },
    10_000 + (at % 100),
  ),
);
await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1000));
for (const timer of timers) clearInterval(timer);
const share = (cpuSeconds() - cpuIdle) / (ms(began) / 1000);
console.log(
  `idle    ${IDLE_NODES} nodes, ${beats} heartbeats in ${IDLE_SECONDS} s: ${(share * 100).toFixed(1)} % of one core, ${memoryMb().toFixed(0)} MB`,
);

await server.stop();
agent.destroy();
console.log(`ratio apiserver-idle ${(share / 0.05).toFixed(2)}`);

async function watchers(): Promise<{ all: Promise<unknown>; stop: () => void }> {
  const { resourceVersion } = JSON.parse(await call('GET', '/api/v1/nodes?limit=1')).metadata;
  const open = await Promise.all(Array.from({ length: WATCHERS }, () => watcher(resourceVersion)));
  return {
    all: Promise.all(open.map(({ done }) => done)),
    stop: () => {
      for (const { stop } of open) stop();
    },
  };
}

function watcher(version: string): Promise<{ done: Promise<void>; stop: () => void }> {
  return new Promise((resolve, reject) => {
    const path = `/api/v1/nodes?watch=true&resourceVersion=${version}`;
    const headers = { authorization: `Bearer ${server.token}` };
    const outgoing = request(
      `${server.url}${path}`,
      { headers, ca: server.ca, agent: false },
      (incoming) => {
        let lines = 0;
        const done = new Promise<void>((end) => {
          incoming.on('data', (chunk: Buffer) => {
            for (const byte of chunk) if (byte === 10) lines += 1;
            if (lines >= CHANGES) end();
          });
        });
        incoming.on('error', () => {});
        resolve({ done, stop: () => outgoing.destroy() });
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}
