/**
 * `pools`: ten thousand pools, one for each rack.
 *
 * First the dry run: the whole command `plan` on files of 1,000 to 10,000 pools and twenty nodes,
 * against a process that only reads and parses the same file. Then a node: an operator starts on an
 * API server that has 10,000 pools, and Nodes are created one after the other, the first ones while it
 * still writes the status of every pool. Timed from the request that creates the Node to its block, and
 * against the same two writes by hand. On the embedded API server and on a real one (--only=plan,
 * embedded or real; --pools=N).
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { crds } from '../src/model/crds.ts';
import { blockName, writeBlock } from '../src/model/node-block.ts';
import { parsePrefix } from '../src/net/prefix.ts';
import { type ApiServer, startApiServer } from '../test/parts/apiserver.ts';
import { startEmbeddedApiServer } from '../test/parts/embedded-apiserver.ts';
import { blast, fullNode, nodeName } from './cluster/load.ts';
import { startOperator } from './cluster/operator-process.ts';

const sizes = [1_000, 2_000, 5_000, 10_000];
const poolCount = Number(argument('--pools') ?? 10_000);
const only = argument('--only');
const land = parsePrefix('10.0.0.0/8')!;
const group = '/apis/cadastre.dev/v1alpha1';

function argument(name: string): string | undefined {
  const at = process.argv.findIndex((one) => one === name || one.startsWith(`${name}=`));
  return at < 0 ? undefined : (process.argv[at]?.split('=')[1] ?? process.argv[at + 1]);
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
const ratio = (name: string, value: number) => console.log(`ratio ${name} ${value.toFixed(3)}`);
const median = (all: readonly number[]) => [...all].sort((a, b) => a - b)[all.length >> 1]!;

const poolObject = (number: number) => ({
  apiVersion: 'cadastre.dev/v1alpha1',
  kind: 'IPPool',
  metadata: { name: `rack-${String(number).padStart(5, '0')}` },
  spec: {
    cidrs: [land.subPrefix(22, number).toString()],
    blockSize: { ipv4: 26 },
    nodeSelector: { matchLabels: { 'kubernetes.io/hostname': nodeName(number) } },
  },
});

interface Run {
  wallMs: number;
  cpuMs: number;
}

/** A process from its start to its exit; on a busy machine its CPU time is the better figure. */
async function run(args: readonly string[]): Promise<Run> {
  const report = `process.on('exit',()=>{const{user,system}=process.cpuUsage();process.stderr.write('cpu '+(user+system)/1000+'\\n')})`;
  const preload = `data:text/javascript,${encodeURIComponent(report)}`;
  const startMs = performance.now();
  const child = spawn(process.execPath, ['--import', preload, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (piece) => {
    said += piece;
  });
  const code = await new Promise((done) => child.on('close', done));
  const wallMs = performance.now() - startMs;
  const cpuMs = Number(/^cpu (\S+)$/m.exec(said)?.[1]);
  if (code !== 0 || Number.isNaN(cpuMs)) throw new Error(`${args.join(' ')}: ${code}\n${said}`);
  return { wallMs, cpuMs };
}

async function best(args: readonly string[]): Promise<Run> {
  const runs = [await run(args), await run(args), await run(args)];
  return runs.reduce((a, b) => (b.cpuMs < a.cpuMs ? b : a));
}

async function measurePlan(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'cadastre-pools-'));
  try {
    const times: Run[] = [];
    let parsed: Run = { wallMs: 0, cpuMs: 0 };
    for (const size of sizes) {
      const nodes = Array.from({ length: 20 }, (_, at) => fullNode(at));
      const pools = Array.from({ length: size }, (_, at) => poolObject(at));
      const file = join(dir, `${size}.json`);
      writeFileSync(
        file,
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...pools, ...nodes] }),
      );
      const planned = await best([resolve('dist/cadastre.mjs'), 'plan', '--from', file]);
      const parse = `JSON.parse(require('node:fs').readFileSync(${JSON.stringify(file)},'utf8'))`;
      parsed = await best(['-e', parse]);
      times.push(planned);
      console.log(
        `plan ${size} pools: ${seconds(planned.wallMs)} (${seconds(planned.cpuMs)} of CPU); reading and parsing the file alone ${seconds(parsed.wallMs)}`,
      );
    }
    const last = times.at(-1)!;
    ratio('plan-pools-10000-to-2s', last.wallMs / 2_000);
    ratio('plan-pools-cpu-to-parse', last.cpuMs / parsed.cpuMs);
    ratio('plan-pools-growth-to-12', last.cpuMs / times[0]!.cpuMs / 12);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** From the request that creates a Node to its block. */
async function serve(api: ApiServer, number: number): Promise<number> {
  const startMs = performance.now();
  const { status } = await api.call('POST', '/api/v1/nodes', fullNode(number));
  if (status >= 300) throw new Error(`creating ${nodeName(number)}: ${status}`);
  const name = blockName(land.subPrefix(22, number).subPrefix(26, 0));
  for (;;) {
    const answer = await api.call('GET', `${group}/nodeblocks/${name}`);
    if (answer.status === 200) return performance.now() - startMs;
    if (performance.now() - startMs > 120_000) throw new Error(`${nodeName(number)} is not served`);
    await sleep(5);
  }
}

/** The same two writes by hand, in a pool that nobody else serves. */
async function byHand(api: ApiServer, number: number): Promise<number> {
  const startMs = performance.now();
  await api.call('POST', '/api/v1/nodes', fullNode(number));
  const prefix = parsePrefix('192.168.0.0/16')!.subPrefix(26, number % 1_024);
  const block = writeBlock({ prefix, pool: 'none', nodeName: nodeName(number), nodeUid: 'none' });
  const { status } = await api.call('POST', `${group}/nodeblocks`, block);
  if (status >= 300) throw new Error(`creating ${prefix}: ${status}`);
  return performance.now() - startMs;
}

async function measureServing(kind: 'embedded' | 'real'): Promise<void> {
  console.error(`${kind}: starting an API server and creating ${poolCount} pools`);
  const api = await (kind === 'real' ? startApiServer : startEmbeddedApiServer)({});
  try {
    for (const crd of crds) {
      await api.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
    }
    await sleep(2_000);
    await blast(api, poolCount, (send, number) =>
      send({
        method: 'POST',
        path: `${group}/ippools`,
        body: JSON.stringify(poolObject(number)),
      }),
    );
    const hands: number[] = [];
    for (let more = 0; more < 5; more++) hands.push(await byHand(api, poolCount + more));
    console.error(`${kind}: starting the operator`);
    const operator = await startOperator(api.kubeconfigPath, api.dir);
    try {
      while (!(await operator.isReady())) await sleep(50);
      const readyMs = performance.now() - operator.startedMs;
      const busy: number[] = [];
      for (let number = 0; number < 5; number++) busy.push(await serve(api, number));
      const written = () =>
        operator.metric('cadastre_kube_requests_total', { verb: 'patch', resource: 'ippools' });
      const atFirst = await written();
      while ((await written()) < 2 * poolCount) await sleep(200);
      const writtenMs = performance.now() - operator.startedMs;
      await sleep(2_000);
      const calm: number[] = [];
      for (let number = 5; number < 10; number++) calm.push(await serve(api, number));
      console.log(
        `${kind}: ready ${seconds(readyMs)} after the start; the status of all ${poolCount} pools written after ${seconds(writtenMs)} (${atFirst} of ${2 * poolCount} writes when the first nodes were served); ${operator.peakRssMegabytes().toFixed(0)} MB at most`,
      );
      console.log(
        `${kind}: a node is served in ${seconds(median(busy))} (${seconds(Math.max(...busy))} at most) while pools are written, in ${seconds(median(calm))} (${seconds(Math.max(...calm))}) after that; the two writes by hand ${seconds(median(hands))}`,
      );
      ratio(`pools-${kind}-served-busy-to-1s`, Math.max(...busy) / 1_000);
      ratio(`pools-${kind}-served-calm-to-1s`, Math.max(...calm) / 1_000);
      ratio(`pools-${kind}-served-to-by-hand`, median(calm) / median(hands));
    } finally {
      await operator.stop();
    }
  } finally {
    await api.stop();
  }
}

if (only === undefined || only === 'plan') await measurePlan();
if (only === undefined || only === 'embedded') await measureServing('embedded');
if (only === undefined || only === 'real') await measureServing('real');
