/** Every way that a packet takes in a cluster, in both families, each by a real HTTP request. */
import { describe, expect, test } from 'vitest';
import { nodeHost, outsideAddresses } from '../../../src/lab/kubelets/layout.ts';
import { type Cluster, whenTrue } from '../cluster.ts';
import {
  familyOf,
  fetchFromPod,
  type NodeBlock,
  type Pod,
  podsOf,
  smallNode,
  urlOf,
  web,
  whenRolledOut,
} from '../installed.ts';

interface Service {
  spec: { clusterIPs: string[]; ports: Array<{ nodePort: number }> };
  status: { loadBalancer: { ingress?: Array<{ ip: string }> } };
}

const service = (name: string, policy: 'Cluster' | 'Local', app: string) => `apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec:
  type: LoadBalancer
  externalTrafficPolicy: ${policy}
  ipFamilyPolicy: RequireDualStack
  selector: { app: ${app} }
  ports: [{ port: 80, targetPort: 8080 }]
`;

/** One pod, so that two nodes have no endpoint of its Service. */
const single = web
  .replaceAll('web', 'single')
  .replace('replicas: 3', 'replicas: 1')
  .replace(/ *ports:.*\n/, '')
  .replace('    spec:\n', '    spec:\n      nodeSelector: { kubernetes.io/hostname: node1 }\n');

export function trafficStories(cluster: () => Cluster): void {
  describe('every way through the cluster, in both families', () => {
    let pods: Pod[];
    let services: Map<string, Service>;
    let addresses: (name: string) => string[];

    test('pods run on every node, with an address of each family', async () => {
      const from = performance.now();
      await cluster().apply(
        [web, single, service('web', 'Cluster', 'web'), service('single', 'Local', 'single')].join(
          '---\n',
        ),
      );
      await whenRolledOut(cluster(), 'deployment/web');
      const seconds = (performance.now() - from) / 1000;
      console.log(`three pods run ${seconds.toFixed(1)} s after kubectl apply`);
      await whenRolledOut(cluster(), 'deployment/single');
      pods = await podsOf(cluster(), 'web');
      expect(pods.map(({ spec }) => spec.nodeName)).toEqual(cluster().nodes);
      for (const { status } of pods) {
        expect(status.podIPs?.map(({ ip }) => familyOf(ip))).toEqual(['ipv4', 'ipv6']);
      }
    });

    test('a Service of type LoadBalancer gets an address of each family', async () => {
      services = new Map();
      await whenTrue(async () => {
        for (const name of ['web', 'single']) {
          const found = await cluster().get<Service>('service', name);
          expect(found.status.loadBalancer.ingress).toHaveLength(2);
          services.set(name, found);
        }
      });
      addresses = (name) => services.get(name)!.status.loadBalancer.ingress!.map(({ ip }) => ip);
    });

    test('pod to pod, on its own node and on the others', async () => {
      const urls = pods.flatMap(({ status }) => status.podIPs!.map(({ ip }) => urlOf(ip, 8080)));
      const names = pods.flatMap(({ metadata }) => [metadata.name, metadata.name]);
      for (const from of pods) {
        expect(await fetchFromPod(cluster(), from, urls)).toEqual(names);
      }
    });

    test('pod to ClusterIP, to the NodePort of each node, to a hostPort', async () => {
      const { clusterIPs, ports } = services.get('web')!.spec;
      const [{ nodePort }] = ports as [{ nodePort: number }];
      const names = pods.map(({ metadata }) => metadata.name);
      const hosts = pods.flatMap((_, at) => [nodeHost(at + 1).ipv4, nodeHost(at + 1).ipv6]);
      const balanced = [
        ...clusterIPs.map((ip) => urlOf(ip, 80)),
        ...hosts.map((ip) => urlOf(ip, nodePort)),
      ];
      const own = hosts.map((ip) => urlOf(ip, 8888));
      for (const from of pods) {
        const answers = await fetchFromPod(cluster(), from, [...balanced, ...own]);
        for (const name of answers.splice(0, balanced.length)) expect(names).toContain(name);
        expect(answers).toEqual(names.flatMap((name) => [name, name]));
      }
    });

    test('pod to a server outside, which sees the address of the node', async () => {
      // The world outside knows no route to pods; it answers to the node that it sees.
      cluster().startIn('router', 'outside-server', [process.execPath, '-e', outsideServer]);
      const urls = Object.values(outsideAddresses).map((ip) => urlOf(ip, 8000));
      for (const [at, from] of pods.entries()) {
        const { ipv4, ipv6 } = nodeHost(at + 1);
        await whenTrue(async () =>
          expect(await fetchFromPod(cluster(), from, urls)).toEqual([ipv4, ipv6]),
        );
      }
    });

    test('the router holds exactly the blocks of the nodes and the addresses of Services', async () => {
      const { items } = await cluster().get<{ items: NodeBlock[] }>('nodeblocks');
      expect(items).toHaveLength(6);
      const expected = [
        ...items.map(({ spec }) => {
          const host = nodeHost(cluster().nodes.indexOf(spec.node.name) + 1);
          return `${spec.cidr} ${host[familyOf(spec.cidr)]}`;
        }),
        ...['web', 'single'].flatMap((name) =>
          addresses(name).flatMap((ip) =>
            (name === 'web' ? [1, 2, 3] : [1]).map((index) => {
              const length = familyOf(ip) === 'ipv4' ? 32 : 128;
              return `${ip}/${length} ${nodeHost(index)[familyOf(ip)]}`;
            }),
          ),
        ),
      ];
      await whenTrue(async () => expect(await routesOf(cluster())).toEqual(expected.sort()));
    });

    test('outside to pod, to a hostPort, and to LoadBalancer addresses of either policy', async () => {
      const names = pods.map(({ metadata }) => metadata.name);
      const [only] = await podsOf(cluster(), 'single');
      for (const [at, { metadata, status }] of pods.entries()) {
        for (const { ip } of status.podIPs!) {
          expect(await cluster().httpFromRouter(urlOf(ip, 8080))).toBe(metadata.name);
          const host = nodeHost(at + 1)[familyOf(ip)];
          expect(await cluster().httpFromRouter(urlOf(host, 8888))).toBe(metadata.name);
        }
      }
      for (const ip of addresses('web')) {
        expect(names).toContain(await cluster().httpFromRouter(urlOf(ip, 80)));
      }
      for (const ip of addresses('single')) {
        expect(await cluster().httpFromRouter(urlOf(ip, 80))).toBe(only!.metadata.name);
        // Policy Local keeps the address of the client.
        const client = await cluster().httpFromRouter(urlOf(ip, 80, 'clientip'));
        expect(client).toMatch(familyOf(ip) === 'ipv4' ? /^10\.4\.94\.1:/ : /^\[fd04:94::1\]:/);
      }
    });

    test('pod to LoadBalancer addresses of either policy, also from nodes without an endpoint', async () => {
      const [only] = await podsOf(cluster(), 'single');
      expect(only!.spec.nodeName).not.toBe(smallNode);
      const urls = [...addresses('web'), ...addresses('single')].map((ip) => urlOf(ip, 80));
      for (const from of pods) {
        const [web4, web6, ...singles] = await fetchFromPod(cluster(), from, urls);
        for (const name of [web4, web6]) {
          expect(pods.map(({ metadata }) => metadata.name)).toContain(name);
        }
        expect(singles).toEqual([only!.metadata.name, only!.metadata.name]);
      }
    });
  });
}

/** `PREFIX NEXT-HOP`, sorted: every path that the router was told. */
export async function routesOf(cluster: Cluster): Promise<string[]> {
  return (await cluster.routerPaths()).map(({ prefix, nextHop }) => `${prefix} ${nextHop}`).sort();
}

const outsideServer = `require('node:http').createServer((request, response) => {
  response.end(request.socket.remoteAddress.replace('::ffff:', ''));
}).listen(8000, '::');`;
