/**
 * `restart`: an operator starts on a cluster whose nodes all have their blocks,
 * and a new node waits for it. Timed from the start of the process to the new
 * node's block, on a real API server. Then a standby is added, the leader is
 * killed (-9), and the time to the next new node's block is taken.
 *
 * The peer, kube-controller-manager with raised limits, starts on the very same
 * cluster (its Nodes carry podCIDRs too) and is timed in the same way.
 */
import { crds } from '../src/model/crds.ts';
import { podCidrAnnotations } from '../src/model/keys.ts';
import { blockName, writeBlock } from '../src/model/node-block.ts';
import { parsePrefix } from '../src/net/prefix.ts';
import { type ApiServer, startApiServer } from '../test/parts/apiserver.ts';
import { startControllerManager } from '../test/parts/controller-manager.ts';
import { blast, fullNode, internalIp, nodeName } from './cluster/load.ts';
import { startOperator } from './cluster/operator-process.ts';

const sizes = (argument('--nodes') ?? '5000,10000').split(',').map(Number);
const land = parsePrefix('10.0.0.0/8')!;
const blocksPath = '/apis/cadastre.dev/v1alpha1/nodeblocks';

function argument(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
const ratio = (name: string, value: number) => console.log(`ratio ${name} ${value.toFixed(3)}`);

async function fill(api: ApiServer, count: number): Promise<void> {
  for (const crd of crds) {
    await api.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  }
  await sleep(2_000);
  await api.call('POST', '/apis/cadastre.dev/v1alpha1/ippools', {
    apiVersion: 'cadastre.dev/v1alpha1',
    kind: 'IPPool',
    metadata: { name: 'all' },
    spec: { cidrs: [land.toString()], blockSize: { ipv4: 24 }, reserved: ['10.96.0.0/16'] },
  });
  await blast(api, count, async (send, index) => {
    const prefix = land.subPrefix(24, index);
    const cidr = prefix.toString();
    const annotations = Object.fromEntries(podCidrAnnotations.ipv4.map((key) => [key, cidr]));
    const body = fullNode(index, { annotations, podCIDRs: [cidr] });
    const node = await send<{ metadata: { uid: string } }>({
      method: 'POST',
      path: '/api/v1/nodes',
      body: JSON.stringify(body),
    });
    const { uid: nodeUid } = node.metadata;
    const nodeAddresses = [internalIp(index)];
    const named = { prefix, pool: 'all', nodeName: nodeName(index) };
    const block = writeBlock({ ...named, nodeUid, nodeAddresses });
    await send({ method: 'POST', path: blocksPath, body: JSON.stringify(block) });
  });
}

/** Creates the node of that number and waits for its block; the moment it is seen. */
async function servedAt(api: ApiServer, index: number): Promise<number> {
  const name = blockName(land.subPrefix(24, index));
  while ((await api.call('GET', `${blocksPath}/${name}`)).status !== 200) await sleep(10);
  return performance.now();
}

async function addNode(api: ApiServer, index: number): Promise<void> {
  const { status } = await api.call('POST', '/api/v1/nodes', fullNode(index));
  if (status >= 300) throw new Error(`creating ${nodeName(index)}: ${status}`);
}

async function measure(count: number): Promise<void> {
  console.error(`${count}: starting an API server and filling it`);
  const api = await startApiServer({ fsync: true });
  try {
    await fill(api, count);
    // Once before, so that the pool has its status and finalizer, as in a cluster that runs.
    const settle = await startOperator(api.kubeconfigPath, api.dir);
    while (!(await settle.isReady())) await sleep(100);
    await sleep(5_000);
    await settle.stop();

    console.error(`${count}: starting the operator`);
    await addNode(api, count);
    const first = await startOperator(api.kubeconfigPath, api.dir);
    const startedIn = (await servedAt(api, count)) - first.startedMs;
    await sleep(3_000);
    const writes = async (verb: string, resource: string) =>
      first.metric('cadastre_kube_requests_total', { verb, resource });
    const creates = await writes('create', 'nodeblocks');
    const patches = (await writes('patch', 'nodes')) + (await writes('patch', 'nodeblocks'));
    const peak = first.peakRssMegabytes();
    console.log(
      `${count} nodes: new node served ${seconds(startedIn)} after the start; ${creates} creates and ${patches} patches; ${first.rssMegabytes().toFixed(0)} MB resident, ${peak.toFixed(0)} MB at most`,
    );

    const second = await startOperator(api.kubeconfigPath, api.dir);
    while (!(await second.isReady())) await sleep(100);
    await sleep(1_500);
    const killedMs = performance.now();
    first.kill('SIGKILL');
    await addNode(api, count + 1);
    const takenOverIn = (await servedAt(api, count + 1)) - killedMs;
    console.log(`${count} nodes: next leader served ${seconds(takenOverIn)} after kill -9`);
    await second.stop();

    console.error(`${count}: starting kube-controller-manager`);
    // The two nodes that came late get their podCIDR from the peer; so does this one.
    await addNode(api, count + 2);
    const kcmStartMs = performance.now();
    const manager = await startControllerManager(api, {
      clusterCidrs: [land.toString()],
      maskIpv4: 24,
      kubeApiQps: 1_000,
      kubeApiBurst: 1_000,
    });
    const path = `/api/v1/nodes/${nodeName(count + 2)}`;
    for (;;) {
      const { body } = await api.call<{ spec?: { podCIDR?: string } }>('GET', path);
      if (body.spec?.podCIDR) break;
      await sleep(10);
    }
    const kcmIn = performance.now() - kcmStartMs;
    await manager.stop();
    console.log(`${count} nodes: kube-controller-manager served a new node in ${seconds(kcmIn)}`);
    ratio(`restart-${count}-to-3s`, startedIn / 3_000);
    ratio(`restart-${count}-to-kcm`, startedIn / kcmIn);
    ratio(`restart-${count}-memory-to-200mb`, peak / 200);
    ratio(`restart-${count}-takeover-to-6s`, takenOverIn / 6_000);
    ratio(`restart-${count}-needless-writes`, (creates + patches - 2) / count);
  } finally {
    await api.stop();
  }
}

for (const count of sizes) await measure(count);
