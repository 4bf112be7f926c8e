/**
 * A cluster of three kubelets with Cadastre as its network, installed as a user
 * does it: the chart by helm, pools for pods and Services of both families, and a
 * BGP session of every node with the router.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureImage } from '../../../scripts/image.mjs';
import { apiServerPort, control, router } from '../../../src/lab/kubelets/layout.ts';
import { Cluster, whenTrue } from '../../cluster/cluster.ts';
import { dnsObjects } from './dns.ts';
import { writeTestImages } from './images.ts';

const cadastre = { apiVersion: 'cadastre.dev/v1alpha1' };
const networkObjects = [
  {
    ...cadastre,
    kind: 'IPPool',
    metadata: { name: 'pods' },
    spec: { cidrs: ['10.5.112.0/21', 'fd00:5::/48'], blockSize: { ipv4: 24, ipv6: 112 } },
  },
  {
    ...cadastre,
    kind: 'LoadBalancerPool',
    metadata: { name: 'services' },
    spec: { addresses: ['10.6.0.0/24', 'fd00:6::/112'] },
  },
  {
    ...cadastre,
    kind: 'BGPPeer',
    metadata: { name: 'router' },
    spec: {
      address: router.ipv4,
      asn: router.asn,
      localASN: 64513,
      connectRetrySeconds: 1,
    },
  },
];

export interface NetworkUnderTest {
  readonly cluster: Cluster;
  /** For programs outside of the cluster. */
  readonly outsideKubeconfig: string;
  /** A command line that enters the namespace of a machine outside. */
  readonly outside: readonly string[];
  readonly kubernetes: string;
  /** The containerd of each node. */
  readonly containerds: readonly string[];
}

export async function startNetwork(
  say: (words: string) => void,
  { dns }: { dns: boolean },
): Promise<NetworkUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'cadastre-test-images-'));
  let cluster: Cluster | undefined;
  try {
    const { file } = await ensureImage();
    const images = [file, ...(await writeTestImages(folder, dns))];
    say('starting three kubelets');
    cluster = await Cluster.start({ name: 'conf', images });
    await installCadastre(cluster);
    say('the chart is installed, every node is ready and has its session with the router');
    if (dns) await installDns(cluster);
    const outsideKubeconfig = `${cluster.kubeconfig}.outside`;
    const text = readFileSync(cluster.kubeconfig, 'utf8');
    const address = `${control.ipv4}:${apiServerPort}`;
    writeFileSync(outsideKubeconfig, text.replace(/127\.0\.0\.1:\d+/, address), { mode: 0o600 });
    const outside = await cluster.addClient();
    return { cluster, outside, outsideKubeconfig, ...(await versionsOf(cluster)) };
  } catch (error) {
    await cluster?.close();
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const systemNamespace = ['--namespace', 'kube-system'];

async function installCadastre(cluster: Cluster): Promise<void> {
  await cluster.helm(['install', 'cadastre', 'charts/cadastre', ...systemNamespace]);
  await whenTrue(() => applyAll(cluster, networkObjects));
  await cluster.whenNodesReady();
  await whenTrue(async () => {
    const sessions = await cluster.routerSessions();
    const up = sessions.filter(({ state }) => state === 'Established');
    if (up.length !== cluster.nodes.length) throw new Error(`${up.length} sessions are up`);
  });
}

async function installDns(cluster: Cluster): Promise<void> {
  await applyAll(cluster, dnsObjects);
  const rollout = ['rollout', 'status', 'deployment/coredns', '--timeout=180s'];
  await cluster.kubectl([...systemNamespace, ...rollout]);
}

/**
 * Where several nodes announce an address, the router chooses among them by each
 * connection's addresses and ports, as routers usually do, or by addresses alone.
 */
export async function spreadOverNodes(
  cluster: Cluster,
  what: 'connections' | 'clients',
): Promise<void> {
  const policy = what === 'connections' ? 1 : 0;
  const set = (family: string) =>
    `echo ${policy} > /proc/sys/net/${family}/fib_multipath_hash_policy`;
  const script = ['sh', '-ec', ['ipv4', 'ipv6'].map(set).join('; ')];
  const { code, stderr } = await cluster.execIn('router', script);
  if (code !== 0) throw new Error(`router: ${stderr}`);
}

function applyAll(cluster: Cluster, objects: readonly object[]): Promise<void> {
  return cluster.apply(objects.map((one) => JSON.stringify(one)).join('\n---\n'));
}

async function versionsOf(cluster: Cluster) {
  const { items } = await cluster.get<{
    items: {
      status: { nodeInfo: { kubeletVersion: string; containerRuntimeVersion: string } };
    }[];
  }>('nodes');
  const infos = items.map(({ status }) => status.nodeInfo);
  return {
    kubernetes: infos[0]!.kubeletVersion,
    containerds: infos.map(({ containerRuntimeVersion: runtime }) =>
      runtime.replace(/^containerd:\/\/|\+.*$/g, ''),
    ),
  };
}
