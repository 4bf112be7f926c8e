/** The fixtures of test/cilium/recorded: three nodes with a pod each, in every mode. */
import { eventually, pause } from '../world/eventually.ts';
import { CiliumCluster } from './cluster.ts';
import type { Mode } from './config.ts';
import { bgpPaths } from './objects.ts';
import { record } from './record.ts';

interface NodeConfig {
  readonly status?: {
    readonly bgpInstances?: ReadonlyArray<{
      readonly peers?: ReadonlyArray<{ readonly peeringState?: string }>;
    }>;
  };
}

export async function recordAll(cilium: string, say: (words: string) => void): Promise<void> {
  const clusters = [
    { name: 'cluster-pool', mode: 'cluster-pool', announces: 'PodCIDR' },
    { name: 'kubernetes', mode: 'kubernetes', announces: 'PodCIDR' },
    // The advertisement is there, and announces nothing.
    { name: 'multi-pool', mode: 'multi-pool', announces: 'PodCIDR' },
    { name: 'multi-pool-announced', mode: 'multi-pool', announces: 'CiliumPodIPPool' },
  ] as const;
  for (const { name, mode, announces } of clusters) {
    await CiliumCluster.use(cilium, { mode }, async (cluster) => {
      await fill(cluster, mode, announces);
      await record(cluster, name);
    });
    say(`${name}: recorded`);
  }
}

async function fill(
  cluster: CiliumCluster,
  mode: Mode,
  announces: 'PodCIDR' | 'CiliumPodIPPool',
): Promise<void> {
  await cluster.startCiliumOperator();
  await cluster.announce(announces);
  const names = ['n1', 'n2', 'n3'];
  for (const [at, name] of names.entries()) {
    const podCIDRs = [`10.50.${at + 1}.0/24`];
    await cluster.addNode(name, mode === 'kubernetes' ? { podCIDRs } : {});
  }
  await Promise.all(names.map((name) => cluster.machine(name).whenAgentServes()));
  await Promise.all(names.map((node) => cluster.pods.start(`pod-${node}`, node)));
  await eventually(async () => {
    const configs = await cluster.world.list<NodeConfig>(bgpPaths.CiliumBGPNodeConfig!);
    const states = configs.map((one) => one.status?.bgpInstances?.[0]?.peers?.[0]?.peeringState);
    if (states.length < 3 || states.some((state) => state !== 'established')) {
      throw new Error(`sessions are ${states.join(', ')}`);
    }
  });
  // The status is reported every few seconds, and counts routes only then.
  await pause(6000);
}
