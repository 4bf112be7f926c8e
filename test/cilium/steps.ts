/** The steps that scenarios are made of. After each of them everything is checked. */
import { eventually, pause } from '../world/eventually.ts';
import { podNetwork, podNetwork6 } from './config.ts';
import { ciliumPaths, serviceObjects } from './objects.ts';
import type { Stage, Step } from './stage.ts';

/** Cadastre in Cilium's mode cluster-pool: it writes what cilium-operator would. */
const clusterPoolFlags = (isDual: boolean): string[] => [
  '--ipam=cluster-pool',
  `--cluster-pool-ipv4-cidr=${podNetwork}`,
  '--cluster-pool-ipv4-mask-size=24',
  ...(isDual
    ? [
        '--enable-ipv6',
        `--cluster-pool-ipv6-cidr=${podNetwork6}`,
        '--cluster-pool-ipv6-mask-size=120',
      ]
    : []),
  '--cooldown-seconds=5',
];

/** Two pools that nodes are moved between, by their label. */
export const movePools = [
  {
    name: 'pods',
    cidrs: [podNetwork],
    nodeSelector: { matchExpressions: [{ key: 'rack', operator: 'DoesNotExist' as const }] },
  },
  { name: 'rack', cidrs: ['10.60.0.0/16'], nodeSelector: { matchLabels: { rack: 'new' } } },
];

/** Cilium alone: its operator allocates, except in mode kubernetes. */
export const ciliumNodes =
  (count: number): Step =>
  async (stage) => {
    await stage.cluster.startCiliumOperator();
    await stage.cluster.announce();
    await stage.cluster.addNodes(count);
    await stage.podOnEach();
    return `${count} nodes of Cilium, a pod each`;
  };

/** The same without Cilium's BGP: the router holds nothing. */
export const ciliumNodesWithoutBgp =
  (count: number): Step =>
  async (stage) => {
    stage.pingsFrom = 'pods';
    stage.expected = { table: [] };
    await stage.cluster.startCiliumOperator();
    await stage.cluster.addNodes(count);
    await stage.podOnEach();
    stage.pingsFrom = 'router and pods';
    return `${count} nodes of Cilium, a pod each, BGP is off`;
  };

/**
 * kube-controller-manager fills in Node.spec out of the same range, and so names other
 * nodes' blocks: nobody reads it in mode cluster-pool, and the doctor says that it differs.
 */
export const nodeIpamBeside: Step = async (stage) => {
  await stage.cluster.startNodeIpam();
  return 'kube-controller-manager writes Node.spec.podCIDRs';
};

/** Cadastre allocates from the first node on, by pools that are objects. */
export const poolNodes =
  (
    count: number,
    project: 'node-spec' | 'annotations',
    pools: ReadonlyArray<{ name: string; cidrs: string[]; nodeSelector?: object }> = [
      { name: 'pods', cidrs: [podNetwork] },
    ],
  ): Step =>
  async (stage) => {
    const { cluster } = stage;
    await cluster.startCiliumOperator();
    await cluster.announce();
    await stage.startCadastre(['--ipam=ip-pool', `--project=${project}`]);
    await createPools(stage, pools);
    await cluster.addNodes(count);
    await stage.podOnEach();
    return `${count} nodes get their blocks from a pool, a pod each`;
  };

async function createPools(
  { cluster }: Stage,
  pools: ReadonlyArray<{ name: string; cidrs: string[]; nodeSelector?: object }>,
  ipv4 = 24,
): Promise<void> {
  for (const { name, ...spec } of pools) {
    await cluster.world.createPool(name, { ...spec, blockSize: { ipv4 }, cooldownSeconds: 5 });
  }
}

/** cilium-operator keeps its other duties; its allocator is off, and ours takes its place. */
export const handOver =
  (to: 'cluster-pool' | 'pools to move between' | 'multi-pool' = 'cluster-pool'): Step =>
  async (stage) => {
    const { cluster } = stage;
    const before = await cluster.blocks();
    const took = await stage.timed(async () => {
      await cluster.restartCiliumOperator(['--ipam=kubernetes']);
      if (to === 'cluster-pool') await stage.startCadastre(clusterPoolFlags(cluster.isDual));
      else {
        await cluster.world.registerCrds();
        if (to === 'multi-pool') {
          await createPools(stage, [{ name: 'default', cidrs: [podNetwork] }], 27);
          await stage.startCadastre(['--ipam=multi-pool']);
        } else {
          await createPools(stage, movePools);
          await stage.startCadastre(['--ipam=ip-pool', '--project=ciliumnode']);
        }
      }
      await whenHeld(stage, before);
    });
    return `all ${Object.values(before).flat().length} blocks adopted in ${took}`;
  };

/** Until the register holds exactly these blocks. */
async function whenHeld(
  stage: Stage,
  wanted: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const right = Object.entries(wanted)
    .flatMap(([node, cidrs]) => cidrs.map((cidr) => `${node} ${cidr}`))
    .sort();
  await eventually(async () => {
    const held = (await stage.cluster.world.blocks())
      .filter(({ spec }) => spec.phase === 'Active')
      .map(({ spec }) => `${spec.node?.name} ${spec.cidr}`)
      .sort();
    if (held.join() !== right.join()) {
      throw new Error(`the register holds ${held.join(', ')}; right is ${right.join(', ')}`);
    }
  });
}

/** A node joins: until its agent serves, and until a pod of it answers. */
export const join =
  (name: string): Step =>
  async (stage) => {
    const { cluster } = stage;
    let served = '';
    const answered = await stage.timed(async () => {
      served = await stage.timed(async () => {
        await cluster.addNode(name);
        await cluster.machine(name).whenAgentServes();
      });
      const pod = await cluster.pods.start(`steady-${name}`, name);
      await stage.pingSteadily([pod]);
    });
    const has = (await stage.blocks())[name];
    return `${name} joins with ${has?.join(', ')}: agent serves after ${served}, its first pod answers after ${answered}`;
  };

export const restartAgents: Step = async (stage) =>
  `Cilium's agents restarted in ${await stage.timed(() => stage.cluster.restartAgents())}`;

export const restartCiliumOperator: Step = async ({ cluster }) => {
  await cluster.restartCiliumOperator();
  return 'cilium-operator restarted';
};

export const restartCadastre: Step = async (stage) => {
  await stage.restartCadastre();
  return 'Cadastre restarted';
};

/**
 * While the Node is gone its CiliumNode goes too, and with it routes and sessions: Cilium's
 * agent has it so. Says how long the node's pod was away, or that it did not come back.
 */
export const recreateNode =
  (name: string, agent: 'runs' | 'is killed', pods: 'come back' | 'are lost'): Step =>
  async (stage) => {
    const { cluster } = stage;
    const had = (await stage.blocks())[name];
    const deaths = cluster.machine(name).agentDeaths;
    await stage.endPings();
    await deleteNode(stage, name);
    if (agent === 'is killed') await cluster.machine(name).killAgent();
    await pause(2000);
    const start = performance.now();
    await cluster.createNode(name);
    let words = '';
    try {
      await stage.whenAnnounced(30_000);
      await stage.pingSteadily(stage.steadyPods, 30_000);
      words = `all pods answer ${((performance.now() - start) / 1000).toFixed(1)} s after it is there again`;
    } catch (error) {
      words = `not all is as before: ${(error as Error).message}`;
      await stage.endPings(true);
      stage.check(pods === 'are lost', words);
    }
    const ended = cluster.machine(name).agentDeaths - deaths;
    const has = (await stage.blocks())[name];
    if (pods === 'are lost') stage.expected = undefined;
    else stage.check(`${has}` === `${had}`, `${name} had ${had}, has ${has}`);
    return `Node ${name} deleted and made again: had ${had}, has ${has}, ${words}${ended > 0 ? ' (its agent ended meanwhile, and was started again)' : ''}`;
  };

async function deleteNode({ cluster }: Stage, name: string): Promise<void> {
  await cluster.world.deleteNode(name);
  await eventually(async () => {
    // The garbage collector learns of a new kind after up to half a minute.
    await cluster.world.call('DELETE', `${ciliumPaths.nodes}/${name}`);
    const { status } = await cluster.world.call('GET', `/api/v1/nodes/${name}`);
    if (status !== 404) throw new Error(`${name} is still there`);
  });
}

/** More pods than a /27 has addresses: the agent asks for another block. */
export const fillBlock =
  (node: string): Step =>
  async (stage) => {
    const { cluster } = stage;
    const took = await stage.timed(async () => {
      for (let at = 0; at < 32; at++) await cluster.pods.start(`many-${at}`, node);
    });
    const blocks = (await cluster.blocks())[node] ?? [];
    stage.check(blocks.length > 1, `${node} has 33 pods and ${blocks.join(', ')}`);
    return `32 more pods on ${node} in ${took}: it has ${blocks.join(', ')}`;
  };

/**
 * What made the incident: another block is written into CiliumNode while the agent runs. BGP
 * and the other nodes follow at once, the agent's allocator does not.
 */
let agentsBlock = '';

export const writeAnotherBlock: Step = async (stage) => {
  const { cluster } = stage;
  await stage.endPings();
  await cluster.restartCiliumOperator(['--ipam=kubernetes']);
  const [was = ''] = (await cluster.blocks()).n1 ?? [];
  agentsBlock = was;
  await writePodCidr(stage, '10.50.77.0/24');
  await stage.whenAnnounced();
  const pod = await cluster.pods.start('late', 'n1');
  stage.check(pod.address.startsWith(was.replace(/0\/24$/, '')), `new pod: ${pod.address}`);
  // Two faults, each seen by itself: where the agent is, and where its pods are.
  const findings = ['AgentOnOldBlock of n1', 'PodsOutsideBlocks of n1'];
  stage.expected = { findings };
  return `n1's CiliumNode says 10.50.77.0/24, a new pod gets ${pod.address} of ${was}; the doctor finds ${findings.join(', ')}`;
};

export const writeOldBlockBack: Step = async (stage) => {
  stage.expected = {};
  await writePodCidr(stage, agentsBlock);
  await stage.whenAnnounced();
  await stage.pingSteadily([...stage.cluster.pods.running.values()]);
  return 'written back: every pod answers again, nothing is found';
};

const writePodCidr = ({ cluster }: Stage, cidr: string) =>
  cluster.world.must('PATCH', `${ciliumPaths.nodes}/n1`, { spec: { ipam: { podCIDRs: [cidr] } } });

/** Cilium announces addresses of Services and no pods: nothing is missing on the router. */
export const servicesOnly =
  (count: number): Step =>
  async (stage) => {
    const { cluster } = stage;
    stage.pingsFrom = 'pods';
    stage.expected = { table: ['192.0.2.0/32'] };
    await cluster.startCiliumOperator();
    for (const { path, body } of serviceObjects) await cluster.world.must('POST', path, body);
    await cluster.announce('Service');
    await cluster.addNodes(count);
    const given = await eventually(async () => {
      const [one] = await cluster.world.list<{
        status?: { loadBalancer?: { ingress?: Array<{ ip: string }> } };
      }>('/api/v1/namespaces/default/services?labelSelector=app=web');
      const ip = one?.status?.loadBalancer?.ingress?.[0]?.ip;
      if (ip === undefined) throw new Error('the Service has no address yet');
      return ip;
    });
    // Every node announces it; the router shows its best path.
    const table = await eventually(async () => {
      const held = await cluster.fabric.table();
      if (!held.some((one) => one.startsWith(`${given}/32`))) {
        throw new Error(`the router holds ${held.join('; ')}`);
      }
      return held;
    });
    stage.expected = { table };
    await stage.podOnEach();
    return `${count} nodes announce a Service's ${given} and no pod: the doctor misses nothing`;
  };
