/** Programs of a node restart, a node loses its power, a node is drained. */
import { describe, expect, test } from 'vitest';
import { type Cluster, whenTrue } from '../cluster.ts';
import { podsOf, whenRolledOut } from '../installed.ts';
import { SteadyTraffic } from '../steady-traffic.ts';
import { routesOf } from './traffic.ts';

export function restartStories(cluster: () => Cluster): void {
  const expectNothingLost = async (traffic: SteadyTraffic) => {
    const { lost, answered } = await traffic.end();
    console.log(`${answered} pings and requests answered, ${lost.length} lost`);
    expect(lost).toEqual([]);
  };

  describe('restarts', () => {
    test('of kubelet and containerd, of either version, lose nothing', async () => {
      const before = await podsOf(cluster(), 'web');
      const traffic = await SteadyTraffic.start(cluster(), before);
      try {
        for (const node of ['node1', 'node2']) {
          await cluster().restart(node, 'containerd', 'SIGKILL');
          await cluster().restart(node, 'kubelet');
        }
        await cluster().whenNodesReady();
        for (const { metadata } of before.slice(0, 2)) {
          await whenTrue(async () => {
            await cluster().kubectl(['exec', metadata.name, '--', 'true']);
          });
        }
        await expectNothingLost(traffic);
      } finally {
        traffic.close();
      }
      const after = await podsOf(cluster(), 'web');
      expect(after.map(({ metadata }) => metadata.uid)).toEqual(
        before.map(({ metadata }) => metadata.uid),
      );
    }, 600_000);

    test('a node loses its power: others lose nothing, its pods come back, no address is used twice', async () => {
      const pods = await podsOf(cluster(), 'web');
      const routes = await routesOf(cluster());
      const others = pods.filter(({ spec }) => spec.nodeName !== 'node2');
      const traffic = await SteadyTraffic.start(cluster(), others);
      const from = performance.now();
      try {
        await cluster().cutPower('node2');
        await cluster().boot('node2');
        await whenTrue(async () => {
          const [, back] = await podsOf(cluster(), 'web');
          const url = `http://${back!.status.podIPs![0]!.ip}:8080/hostname`;
          expect(await cluster().httpFromRouter(url)).toBe(back!.metadata.name);
          expect(await routesOf(cluster())).toEqual(routes);
        });
        const seconds = ((performance.now() - from) / 1000).toFixed(1);
        console.log(`after a power cut a pod answers to the router again in ${seconds} s`);
        await expectNothingLost(traffic);
      } finally {
        traffic.close();
      }
      await cluster().whenNodesReady();
      for (const what of ['deployment/web', 'deployment/single']) {
        await whenRolledOut(cluster(), what);
      }
      const used = await addressesOfPods(cluster());
      expect([...new Set(used)]).toEqual(used);
    }, 600_000);
  });

  describe('kubectl drain', () => {
    test('withdraws the routes of the node when its pods have gone; others lose nothing', async () => {
      const routes = await routesOf(cluster());
      const others = (await podsOf(cluster(), 'web')).filter(
        ({ spec }) => spec.nodeName !== 'node2',
      );
      const traffic = await SteadyTraffic.start(cluster(), others);
      try {
        await cluster().kubectl(['drain', 'node2', '--ignore-daemonsets', '--timeout=120s']);
        const left = routes.filter((route) => !/ (10\.4\.94\.|fd04:94::)12$/.test(route));
        expect(left.length).toBeLessThan(routes.length);
        await whenTrue(async () => expect(await routesOf(cluster())).toEqual(left));
        await cluster().kubectl(['uncordon', 'node2']);
        await whenRolledOut(cluster(), 'deployment/web');
        await whenTrue(async () => expect(await routesOf(cluster())).toEqual(routes));
        await expectNothingLost(traffic);
      } finally {
        traffic.close();
      }
    }, 600_000);
  });
}

/** As the namespaces of pods on all nodes have them. */
async function addressesOfPods(cluster: Cluster): Promise<string[]> {
  const look = `for file in /run/netns/*; do
    nsenter --net="$file" ip -o addr show dev eth0 scope global | awk '{ print $4 }'
  done`;
  const found = await Promise.all(
    cluster.nodes.map(async (node) => (await cluster.exec(node, ['sh', '-c', look])).stdout),
  );
  return found.flatMap((text) => text.trim().split('\n'));
}
