/**
 * `join`: 5,000 Nodes want a block at once, on a real API server with a real
 * disk behind etcd. Four contenders, one after the other, each on a fresh
 * cluster whose Nodes exist already, timed from the moment it is let loose:
 *
 *   bare      a client that does nothing but the same two writes a node
 *   ours      the operator, standing by with its copies read; let loose by giving
 *             it the lease that the benchmark held until then
 *   kcm       kube-controller-manager with its client limits raised to 1,000;
 *             timed from its first podCIDR, so its start-up is not held against it
 *   kcm-20    the same as shipped: 20 requests a second. Timed for a while and
 *             extended to all nodes at the rate seen, unless --full is given
 *
 * One light observer watches in the same way in all four.
 */
import { spawn } from 'node:child_process';
import { crds } from '../src/model/crds.ts';
import { podCidrAnnotations } from '../src/model/keys.ts';
import { blockName, writeBlock } from '../src/model/node-block.ts';
import { parsePrefix } from '../src/net/prefix.ts';
import { type ApiServer, startApiServer } from '../test/parts/apiserver.ts';
import { startControllerManager } from '../test/parts/controller-manager.ts';
import { blast, type Call, createNodes, nodeName } from './cluster/load.ts';
import { observe } from './cluster/observer.ts';
import { startOperator } from './cluster/operator-process.ts';

const count = Number(argument('--nodes') ?? 5_000);
const isFull = process.argv.includes('--full');
const only = argument('--only')?.split(',');
const waitMs = 600_000;
const poolCidr = '10.0.0.0/8';
const blocksPath = '/apis/cadastre.dev/v1alpha1/nodeblocks';
const poolsPath = '/apis/cadastre.dev/v1alpha1/ippools';
const annotationMark = 'network.cilium.io/ipv4-pod-cidr';

function argument(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

async function main(): Promise<void> {
  const wants = (name: string) => only === undefined || only.includes(name);
  const bare = wants('bare') ? await withCluster('bare', measureBare) : undefined;
  const ours = wants('ours') ? await withCluster('ours', measureOurs) : undefined;
  const kcm = wants('kcm') ? await withCluster('kcm', (api) => measureKcm(api, 1_000)) : undefined;
  const kcm20 = wants('kcm-20')
    ? await withCluster('kcm-20', (api) => measureKcm(api, 20))
    : undefined;
  const ratio = (name: string, top: number | undefined, bottom: number | undefined) => {
    if (top !== undefined && bottom !== undefined) {
      console.log(`ratio ${name} ${(top / bottom).toFixed(3)}`);
    }
  };
  ratio('join-projected-to-bare', ours?.projected, bare?.projected);
  ratio('join-block-to-kcm', ours?.block, kcm?.block);
  ratio('join-block-to-kcm-default', ours?.block, kcm20?.block);
}

interface Times {
  block: number;
  projected: number;
}

async function withCluster(
  name: string,
  measure: (api: ApiServer) => Promise<Times>,
): Promise<Times> {
  console.error(`${name}: starting an API server`);
  const api = await startApiServer({ fsync: true });
  try {
    console.error(`${name}: creating ${count} Nodes`);
    for (const crd of crds) {
      await api.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
    }
    await createNodes(api, count);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    console.error(`${name}: let loose`);
    const times = await measure(api);
    console.log(
      `${name.padEnd(8)} ${count} nodes: last block ${seconds(times.block)}, last projection ${seconds(times.projected)}`,
    );
    return times;
  } finally {
    await api.stop();
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

async function measureBare(api: ApiServer): Promise<Times> {
  const blocks = await observe(api, blocksPath, '"ADDED"');
  const nodes = await observe(api, '/api/v1/nodes', annotationMark);
  const child = spawn(
    process.execPath,
    [process.argv[1]!, '--bare-client', '--nodes', `${count}`],
    {
      stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
    },
  );
  // It lists and prepares before it is let loose, as the operator has.
  await new Promise((resolve) => {
    child.once('message', resolve);
    child.stdin!.end(JSON.stringify({ url: api.url, token: api.token, ca: api.ca }));
  });
  const startMs = performance.now();
  child.send('go');
  const projected = (await nodes.reached(count, waitMs)) - startMs;
  const block = (await blocks.reached(count, waitMs)) - startMs;
  blocks.close();
  nodes.close();
  return { block, projected };
}

async function bareClient(): Promise<void> {
  let text = '';
  for await (const piece of process.stdin) text += piece;
  const target = JSON.parse(text);
  const pool = parsePrefix(poolCidr)!;
  const chains = Array.from({ length: count }, (_, index): Call[] => {
    const prefix = pool.subPrefix(24, index);
    const name = nodeName(index);
    const block = writeBlock({ prefix, pool: 'all', nodeName: name, nodeUid: blockName(prefix) });
    const operations = podCidrAnnotations.ipv4.flatMap((key) => {
      const path = `/metadata/annotations/${key.replaceAll('/', '~1')}`;
      return [
        { op: 'test', path, value: null },
        { op: 'add', path, value: prefix.toString() },
      ];
    });
    return [
      { method: 'POST', path: blocksPath, body: JSON.stringify(block) },
      {
        method: 'PATCH',
        path: `/api/v1/nodes/${name}`,
        contentType: 'application/json-patch+json',
        body: JSON.stringify(operations),
      },
    ];
  });
  const go = new Promise((resolve) => process.once('message', resolve));
  process.send!('ready');
  await go;
  await blast(target, count, async (send, index) => {
    for (const call of chains[index]!) await send(call);
  });
  process.disconnect();
}

async function measureOurs(api: ApiServer): Promise<Times> {
  const release = await holdLease(api);
  await api.call('POST', poolsPath, {
    apiVersion: 'cadastre.dev/v1alpha1',
    kind: 'IPPool',
    metadata: { name: 'all' },
    spec: { cidrs: [poolCidr], blockSize: { ipv4: 24 }, reserved: ['10.96.0.0/16'] },
  });
  const operator = await startOperator(api.kubeconfigPath, api.dir);
  try {
    while (!(await operator.isReady())) await new Promise((resolve) => setTimeout(resolve, 100));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const blocks = await observe(api, blocksPath, '"ADDED"');
    const nodes = await observe(api, '/api/v1/nodes', annotationMark);
    const startMs = performance.now();
    await release();
    const block = (await blocks.reached(count, waitMs)) - startMs;
    const projected = (await nodes.reached(count, waitMs)) - startMs;
    blocks.close();
    nodes.close();
    const requests = (verb: string, resource: string) =>
      operator.metric('cadastre_kube_requests_total', { verb, resource });
    const creates = await requests('create', 'nodeblocks');
    const patches = await requests('patch', 'nodes');
    const reads = (await requests('get', 'nodes')) + (await requests('get', 'nodeblocks'));
    console.log(
      `ours     ${creates} creates of blocks, ${patches} patches of Nodes, ${reads} reads of either; ${operator.peakRssMegabytes().toFixed(0)} MB at most`,
    );
    return { block, projected };
  } finally {
    await operator.stop();
  }
}

/** Holds the leader lease as another replica would; the answer lets go of it. */
async function holdLease(api: ApiServer): Promise<() => Promise<void>> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
  const spec = (holderIdentity: string) => ({
    holderIdentity,
    leaseDurationSeconds: 5,
    renewTime: new Date().toISOString().replace('Z', '000Z'),
  });
  const metadata = { name: 'cadastre-operator', namespace: 'kube-system' };
  await api.call('POST', path, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata,
    spec: spec('benchmark'),
  });
  const renew = setInterval(
    () => void api.call('PATCH', `${path}/cadastre-operator`, { spec: spec('benchmark') }),
    1_000,
  );
  return async () => {
    clearInterval(renew);
    await api.call('PATCH', `${path}/cadastre-operator`, { spec: spec('') });
  };
}

async function measureKcm(api: ApiServer, qps: number): Promise<Times> {
  const nodes = await observe(api, '/api/v1/nodes', '"podCIDRs"');
  const manager = await startControllerManager(api, {
    clusterCidrs: [poolCidr],
    maskIpv4: 24,
    kubeApiQps: qps,
    kubeApiBurst: qps,
  });
  try {
    const firstMs = await nodes.reached(1, waitMs);
    if (qps >= 1_000 || isFull) {
      const block = (await nodes.reached(count, waitMs)) - firstMs;
      return { block, projected: block };
    }
    const sampleMs = 30_000;
    await new Promise((resolve) => setTimeout(resolve, sampleMs));
    const rate = nodes.count() / (performance.now() - firstMs);
    console.log(
      `kcm-20   ${nodes.count()} nodes in ${seconds(performance.now() - firstMs)}; the rest at that rate`,
    );
    return { block: count / rate, projected: count / rate };
  } finally {
    nodes.close();
    await manager.stop();
  }
}

if (process.argv.includes('--bare-client')) await bareClient();
else await main();
