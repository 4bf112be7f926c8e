/**
 * A real kubelet, kube-proxy, kube-controller-manager and kube-scheduler on the
 * embedded API server, and Helm with our chart: a pod runs, has its token and
 * reaches the API server, and goes.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureImage } from '../../scripts/image.mjs';
import { agnhostImage } from '../../src/lab/kubelets/images.ts';
import { kubernetesService, router } from '../../src/lab/kubelets/layout.ts';
import { Cluster, clustersFolder, mustLabCluster, tracesOf, whenTrue } from './cluster.ts';

const chart = join(import.meta.dirname, '../../charts/cadastre');
const objects = `apiVersion: cadastre.dev/v1alpha1
kind: IPPool
metadata: { name: pods }
spec: { cidrs: [10.5.112.0/21, "fd05::/56"], blockSize: { ipv4: 24, ipv6: 64 } }
---
apiVersion: cadastre.dev/v1alpha1
kind: BGPPeer
metadata: { name: router }
spec: { address: ${router.ipv4}, asn: ${router.asn}, localASN: 64513, connectRetrySeconds: 1 }
`;

const secrets = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Kubelet asks all of it of the container: its token is there, and the API server by its Service. */
const web = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: web
          image: ${agnhostImage}
          args: [netexec, --http-port=8080]
          startupProbe:
            periodSeconds: 1
            exec: { command: [cat, ${secrets}/token, ${secrets}/ca.crt, ${secrets}/namespace] }
          readinessProbe:
            periodSeconds: 1
            timeoutSeconds: 5
            exec: { command: [/agnhost, connect, --timeout=5s, "${kubernetesService}:443"] }
`;

interface Pod {
  metadata: { name: string };
  spec: { nodeName: string };
  status: { phase: string; podIPs: Array<{ ip: string }> };
}

interface Lease {
  spec: { holderIdentity: string; renewTime: string };
}

let cluster: Cluster;
let lease: Lease;

const readLease = () => cluster.get<Lease>('lease', 'node1', '-n', 'kube-node-lease');
const podsOfWeb = async () => (await cluster.get<{ items: Pod[] }>('pods', '-l', 'app=web')).items;
const linksOfPods = async () =>
  (await cluster.exec('node1', ['sh', '-c', 'ls /sys/class/net | grep ^cad'])).stdout;

beforeAll(async () => {
  cluster = await Cluster.start({
    name: 'embedded',
    nodes: 1,
    containerd: '2',
    apiServer: 'embedded',
    images: [(await ensureImage()).file],
  });
}, 300_000);

afterAll(async () => {
  await cluster?.close();
});

test('a kubelet registers its node, and says that it is ready once the chart is installed', async () => {
  await whenTrue(async () => {
    lease = await readLease();
    expect(lease.spec.holderIdentity).toBe('node1');
  });
  await cluster.helm(['install', 'cadastre', chart, '--namespace', 'kube-system']);
  await cluster.apply(objects);
  const inSystem = ['--namespace', 'kube-system', '--timeout=120s'];
  await cluster.kubectl(['rollout', 'status', 'daemonset/cadastre-agent', ...inSystem]);
  await cluster.whenNodesReady();
  const { stdout } = await mustLabCluster(['status', cluster.name]);
  expect(stdout).toContain('not running  -');
  expect(stdout).toContain('API server   serves');
}, 300_000);

test('a Deployment becomes a pod that runs, with its token, and reaches the API server', async () => {
  await cluster.apply(web);
  await cluster.kubectl(['rollout', 'status', 'deployment/web', '--timeout=120s']);
  const [pod] = await podsOfWeb();
  expect(pod).toMatchObject({ spec: { nodeName: 'node1' }, status: { phase: 'Running' } });
  expect(pod!.status.podIPs).toHaveLength(2);
  expect(await linksOfPods()).not.toBe('');
  const url = `http://${pod!.status.podIPs[0]!.ip}:8080/hostname`;
  await whenTrue(async () => {
    expect(await cluster.httpFromRouter(url)).toBe(pod!.metadata.name);
  });
}, 300_000);

test('scaled to none, the pod stays until its kubelet has ended it, and is gone', async () => {
  await cluster.kubectl(['scale', 'deployment/web', '--replicas=0']);
  await whenTrue(async () => expect(await podsOfWeb()).toEqual([]));
  expect(await linksOfPods()).toBe('');
}, 300_000);

test('what the chart brought goes with it: the kubelet ends those pods, too', async () => {
  await cluster.helm(['uninstall', 'cadastre', '--namespace', 'kube-system']);
  await whenTrue(async () => {
    expect((await cluster.get<{ items: Pod[] }>('pods', '--all-namespaces')).items).toEqual([]);
  });
}, 300_000);

test('the kubelet keeps its Lease, and nobody was refused anything', async () => {
  await whenTrue(async () => {
    expect((await readLease()).spec.renewTime > lease.spec.renewTime).toBe(true);
  });
  const log = readFileSync(join(clustersFolder, cluster.name, 'logs/api-server.log'), 'utf8');
  expect(log.split('\n').filter((line) => line.includes('request refused'))).toEqual([]);
}, 120_000);

test('down leaves nothing behind', async () => {
  expect((await tracesOf(cluster.name)).length).toBeGreaterThan(10);
  await cluster.close();
  expect(await tracesOf(cluster.name)).toEqual([]);
}, 120_000);
