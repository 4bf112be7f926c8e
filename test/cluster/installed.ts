/** A cluster of kubelets with Cadastre installed by its chart, as docs/install.md says. */
import { join } from 'node:path';
import { ensureImage } from '../../scripts/image.mjs';
import { agnhostImage } from '../../src/lab/kubelets/images.ts';
import { router } from '../../src/lab/kubelets/layout.ts';
import { Cluster } from './cluster.ts';

export const chart = join(import.meta.dirname, '../../charts/cadastre');

/** The node with the label `rack=small` has a block of 16 addresses: it fills soon. */
export const smallNode = 'node3';

const objects = `apiVersion: cadastre.dev/v1alpha1
kind: IPPool
metadata: { name: pods }
spec:
  cidrs: [10.5.112.0/21, "fd05::/56"]
  blockSize: { ipv4: 25, ipv6: 64 }
  nodeSelector: { matchExpressions: [{ key: rack, operator: NotIn, values: [small] }] }
---
apiVersion: cadastre.dev/v1alpha1
kind: IPPool
metadata: { name: small }
spec:
  cidrs: [10.5.120.0/27, "fd05:1::/56"]
  blockSize: { ipv4: 28, ipv6: 64 }
  nodeSelector: { matchLabels: { rack: small } }
---
apiVersion: cadastre.dev/v1alpha1
kind: BGPPeer
metadata: { name: router }
spec:
  address: ${router.ipv4}
  asn: ${router.asn}
  localASN: 64513
  connectRetrySeconds: 1
  # A busy machine starts the new pod of an agent later than a router waits by default (20 s).
  gracefulRestartSeconds: 120
---
apiVersion: cadastre.dev/v1alpha1
kind: BGPAdvertisement
metadata: { name: pods }
spec: { pools: [pods, small], communities: ["64513:100"] }
---
apiVersion: cadastre.dev/v1alpha1
kind: LoadBalancerPool
metadata: { name: services }
spec: { addresses: [10.6.0.0/24, "fd06::/112"] }
`;

export interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string };
  spec: { nodeName: string };
  status: {
    phase: string;
    podIPs?: Array<{ ip: string }>;
    conditions?: Array<{ type: string; status: string }>;
  };
}

export interface NodeBlock {
  spec: { cidr: string; node: { name: string } };
}

/** Chart, pools, peer; the nodes are Ready when it is done. */
export async function installCadastre(cluster: Cluster): Promise<void> {
  await cluster.kubectl(['label', 'node', smallNode, 'rack=small']);
  await cluster.helm(['install', 'cadastre', chart, '--namespace', 'kube-system']);
  await cluster.apply(objects);
  await cluster.whenNodesReady();
}

export async function startInstalled(): Promise<Cluster> {
  const { file } = await ensureImage();
  const cluster = await Cluster.start({ name: 'stories', images: [file] });
  await installCadastre(cluster);
  return cluster;
}

/** The pods of a Deployment or DaemonSet, in order of their nodes' names. */
export async function podsOf(cluster: Cluster, app: string): Promise<Pod[]> {
  const { items } = await cluster.get<{ items: Pod[] }>('pods', '-l', `app=${app}`);
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .sort((a, b) => (a.spec.nodeName < b.spec.nodeName ? -1 : 1));
}

export async function whenRolledOut(cluster: Cluster, what: string, namespace = 'default') {
  const limit = ['--timeout=240s', '--namespace', namespace];
  await cluster.kubectl(['rollout', 'status', what, ...limit]);
}

/** Agnhost answers on 8080 and, as a node has a port but once, on port 8888 of each node. */
export const web = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: web
          image: ${agnhostImage}
          args: [netexec, --http-port=8080]
          ports: [{ containerPort: 8080, hostPort: 8888 }]
          readinessProbe:
            httpGet: { port: 8080, path: /healthz }
`;

export function urlOf(ip: string, port: number, path = 'hostname'): string {
  return `http://${ip.includes(':') ? `[${ip}]` : ip}:${port}/${path}`;
}

export function familyOf(ip: string): 'ipv4' | 'ipv6' {
  return ip.includes(':') ? 'ipv6' : 'ipv4';
}

/** A GET of each URL, one after the other, in a pod; what has no answer in time is empty. */
export async function fetchFromPod(
  cluster: Cluster,
  pod: Pod,
  urls: readonly string[],
): Promise<string[]> {
  const get = 'for url in "$@"; do timeout 20 wget -q -O - "$url"; echo; done';
  const command = ['sh', '-c', get, 'sh', ...urls];
  const text = await cluster.kubectl(['exec', pod.metadata.name, '--', ...command]);
  return text.split('\n').slice(0, -1);
}
