/** Agents restart, go and come back, and everything is upgraded: no packet is lost, every node stays Ready. */
import { describe, expect, test } from 'vitest';
import { pause } from '../../world/eventually.ts';
import { type Cluster, whenTrue } from '../cluster.ts';
import { chart, podsOf, urlOf, whenRolledOut } from '../installed.ts';
import { readySince } from '../nodes-stay-ready.ts';
import { SteadyTraffic } from '../steady-traffic.ts';
import { routesOf } from './traffic.ts';

interface Service {
  spec: { clusterIPs: string[] };
  status: { loadBalancer: { ingress: Array<{ ip: string }> } };
}

export function upgradeStories(cluster: () => Cluster): void {
  /** Nothing is lost, no node was NotReady, and the router holds the same afterwards. */
  const withoutLoss = async (work: () => Promise<void>) => {
    const pods = await podsOf(cluster(), 'web');
    const { spec, status } = await cluster().get<Service>('service', 'web');
    const [ready, routes] = [await readySince(cluster()), await routesOf(cluster())];
    const traffic = await SteadyTraffic.start(cluster(), pods, {
      fromPods: spec.clusterIPs.map((ip) => urlOf(ip, 80)),
      fromRouter: status.loadBalancer.ingress.map(({ ip }) => urlOf(ip, 80)),
    });
    try {
      const from = performance.now();
      await work();
      const seconds = ((performance.now() - from) / 1000).toFixed(1);
      const { lost, answered } = await traffic.end();
      console.log(`${seconds} s, ${answered} pings and requests answered, ${lost.length} lost`);
      expect(lost).toEqual([]);
    } finally {
      traffic.close();
    }
    expect(await readySince(cluster())).toEqual(ready);
    await whenTrue(async () => expect(await routesOf(cluster())).toEqual(routes));
  };
  const upgrade = (...settings: string[]) =>
    cluster().helm([
      ...['upgrade', 'cadastre', chart, '--namespace', 'kube-system', '--reuse-values'],
      ...['--wait', '--timeout', '5m', ...settings.flatMap((one) => ['--set', one])],
    ]);

  describe('under traffic between pods and from the router', () => {
    test('helm upgrade: the agents and an operator on every node roll, nothing is lost', async () => {
      await upgrade('operator.replicas=3');
      await withoutLoss(async () => {
        await upgrade('operator.logLevel=debug', 'agent.logLevel=debug');
      });
    }, 600_000);

    test('a restart of all agents loses nothing, and no node goes NotReady', async () => {
      await withoutLoss(async () => {
        const agents = ['daemonset/cadastre-agent', '--namespace', 'kube-system'];
        await cluster().kubectl(['rollout', 'restart', ...agents]);
        await whenRolledOut(cluster(), 'daemonset/cadastre-agent', 'kube-system');
      });
    }, 600_000);

    test('the agents are deleted and come back in time: nothing is lost, no node goes NotReady', async () => {
      await withoutLoss(async () => {
        await cluster().kubectl([
          ...['delete', 'daemonset', 'cadastre-agent', '--namespace', 'kube-system'],
          ...['--cascade=foreground', '--timeout=60s'],
        ]);
        // Two times that a kubelet asks for the network. A minute after its agent went a node may be NotReady.
        await pause(10_000);
        await upgrade();
      });
    }, 600_000);
  });
}
