/** What README, docs, plan, doctor and migrate promise about Cilium, played with the real one. */

import { ensureShim } from '../../scripts/shim.mjs';
import { eventually, pause } from '../world/eventually.ts';
import { cadastreProgram, type OperatorProcess } from '../world/operator-process.ts';
import { type Mode, podNetwork } from './config.ts';
import { nodeAsn, router } from './layout.ts';
import { ciliumPaths } from './objects.ts';
import type { Pod } from './pods.ts';
import type { Stage } from './stage.ts';

export interface Scenario {
  readonly name: string;
  readonly mode: Mode;
  readonly what: string;
  play(stage: Stage): Promise<void>;
}

/** Cadastre in Cilium's mode cluster-pool: it writes what cilium-operator would. */
const clusterPoolFlags = [
  '--ipam=cluster-pool',
  `--cluster-pool-ipv4-cidr=${podNetwork}`,
  '--cluster-pool-ipv4-mask-size=24',
  '--cooldown-seconds=5',
];

export async function handOver(stage: Stage): Promise<OperatorProcess> {
  const { cluster } = stage;
  await cluster.stopCiliumOperator();
  // Its other duties stay; only its allocator is off.
  await cluster.startCiliumOperator(['--ipam=kubernetes']);
  return cluster.world.leader(clusterPoolFlags);
}

/** Until the register holds these blocks. */
export async function whenHeld(stage: Stage, wanted: Readonly<Record<string, readonly string[]>>) {
  await eventually(async () => {
    const held = (await stage.cluster.world.blocks())
      .filter(({ spec }) => spec.phase === 'Active')
      .map(({ spec }) => `${spec.node?.name} ${spec.cidr}`)
      .sort();
    const right = Object.entries(wanted)
      .flatMap(([node, cidrs]) => cidrs.map((cidr) => `${node} ${cidr}`))
      .sort();
    if (held.join() !== right.join()) {
      throw new Error(`the register holds ${held.join(', ')}; right is ${right.join(', ')}`);
    }
  });
}

/** A node joins: until its agent serves, and until a pod of it answers the router. */
async function join(stage: Stage, name: string): Promise<string> {
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
  return `agent serves after ${served}, its first pod answers the router after ${answered}`;
}

/** Not those that only fill a block. */
const steady = (stage: Stage): Pod[] =>
  [...stage.cluster.pods.running.values()].filter(({ name }) => name.startsWith('steady'));

/**
 * While the Node is gone its CiliumNode goes too, and with it routes and sessions: Cilium's
 * agent has it so. Says how long the node's pod was away, or that it did not come back.
 */
async function recreateNode(
  stage: Stage,
  name: string,
  agent: 'runs' | 'is killed' = 'runs',
): Promise<string> {
  const { cluster } = stage;
  const had = (await stage.blocks())[name];
  const deaths = cluster.machine(name).agentDeaths;
  await stage.endPings();
  await cluster.world.deleteNode(name);
  await eventually(async () => {
    // The garbage collector learns of a new kind after up to half a minute.
    await cluster.world.call('DELETE', `${ciliumPaths.nodes}/${name}`);
    const { status } = await cluster.world.call('GET', `/api/v1/nodes/${name}`);
    if (status !== 404) throw new Error(`${name} is still there`);
  });
  if (agent === 'is killed') await cluster.machine(name).killAgent();
  await pause(2000);
  const start = performance.now();
  await cluster.createNode(name);
  let words = '';
  try {
    await stage.whenAnnounced(30_000);
    await stage.pingSteadily(steady(stage), 30_000);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    words = `all pods answer ${seconds} s after it is there again`;
  } catch (error) {
    words = `not all is as before: ${(error as Error).message}`;
    await stage.endPings(true);
  }
  const ended = cluster.machine(name).agentDeaths - deaths;
  const has = (await stage.blocks())[name];
  return `Node ${name} deleted and made again: had ${had}, has ${has}, ${words}${ended > 0 ? ` (its agent ended meanwhile, and was started again)` : ''}`;
}

const baseline: Scenario = {
  name: 'baseline',
  mode: 'cluster-pool',
  what: 'Cilium alone, its operator allocates',
  async play(stage) {
    const { cluster } = stage;
    await stage.standardCluster(3);
    await stage.checkAll('three nodes');
    stage.step('three nodes, a pod each');
    stage.step(`agents restarted in ${await stage.timed(() => cluster.restartAgents())}`);
    await stage.checkAll('agents restarted');
    await cluster.stopCiliumOperator();
    await cluster.startCiliumOperator();
    await stage.checkAll('cilium-operator restarted');
    stage.step('cilium-operator restarted');
    stage.step(`n4 joins: ${await join(stage, 'n4')}`);
    await stage.checkAll('n4 joined');
    stage.step(await recreateNode(stage, 'n2'));
  },
};

const handover: Scenario = {
  name: 'handover',
  mode: 'cluster-pool',
  what: 'Cadastre takes over from cilium-operator, which goes on with `--ipam=kubernetes`',
  async play(stage) {
    const { cluster } = stage;
    await stage.standardCluster(3);
    const before = await cluster.blocks();
    const took = await stage.timed(async () => {
      await handOver(stage);
      await whenHeld(stage, before);
    });
    stage.step(`all ${Object.keys(before).length} blocks adopted in ${took}`);
    await stage.checkAll('handover');
    stage.step(`n4 joins: ${await join(stage, 'n4')}`);
    await stage.checkAll('n4 joined');
    const blocks = await cluster.blocks();
    stage.step(`agents restarted in ${await stage.timed(() => cluster.restartAgents())}`);
    await stage.checkAll('agents restarted');
    await cluster.world.stopOperators();
    await cluster.world.leader(clusterPoolFlags);
    await stage.checkAll('Cadastre restarted');
    stage.step('Cadastre restarted');
    const told = await recreateNode(stage, 'n4');
    stage.step(told);
    stage.check(told.includes('all pods answer'), told);
    await stage.checkAll('Node n4 deleted and made again');
    const after = await cluster.blocks();
    stage.check(after.n4?.join() === blocks.n4?.join(), `n4 had ${blocks.n4}, has ${after.n4}`);
    await cluster.machine('n4').restartAgent(cluster.config);
    await stage.checkAll("n4's agent restarted");
    stage.step("n4's agent restarted");
  },
};

/** Pools as objects, projected to where agents in mode kubernetes look. */
async function poolScenario(stage: Stage, project: 'node-spec' | 'annotations'): Promise<void> {
  const { cluster } = stage;
  const flags = ['--ipam=ip-pool', `--project=${project}`];
  await cluster.startCiliumOperator();
  await cluster.announcePods();
  await cluster.world.leader(flags);
  await cluster.world.createPool('pods', {
    cidrs: [podNetwork],
    blockSize: { ipv4: 24 },
    cooldownSeconds: 5,
  });
  await cluster.addNodes(3);
  await stage.podOnEach();
  await stage.checkAll('three nodes');
  stage.step('three nodes get their blocks from a pool, a pod each');
  stage.step(`n4 joins: ${await join(stage, 'n4')}`);
  await stage.checkAll('n4 joined');
  stage.step(`agents restarted in ${await stage.timed(() => cluster.restartAgents())}`);
  await stage.checkAll('agents restarted');
  await cluster.world.stopOperators();
  await cluster.world.leader(flags);
  await cluster.stopCiliumOperator();
  await cluster.startCiliumOperator();
  await stage.checkAll('both operators restarted');
  stage.step('Cadastre and cilium-operator restarted');
  for (const agent of ['runs', 'is killed'] as const) {
    const told = await recreateNode(stage, 'n2', agent);
    stage.step(told);
    stage.check(told.includes('all pods answer'), told);
    await stage.checkAll(`Node n2 deleted and made again, its agent ${agent}`);
  }
}

const nodeSpec: Scenario = {
  name: 'node-spec',
  mode: 'kubernetes',
  what: '`--project node-spec`, agents with `ipam: kubernetes`',
  play: (stage) => poolScenario(stage, 'node-spec'),
};

const annotations: Scenario = {
  name: 'annotations',
  mode: 'kubernetes',
  what: '`--project annotations`, agents with `ipam: kubernetes` and `annotate-k8s-node: true`',
  async play(stage) {
    stage.cluster.config['annotate-k8s-node'] = 'true';
    await stage.cluster.writeConfig();
    await poolScenario(stage, 'annotations');
  },
};

/**
 * What made the incident: another block is written into CiliumNode while the agent runs. BGP
 * and the other nodes follow at once, the agent's allocator does not.
 */
const incident: Scenario = {
  name: 'incident',
  mode: 'cluster-pool',
  what: 'somebody writes another block into a CiliumNode while its agent runs',
  async play(stage) {
    const { cluster } = stage;
    await stage.standardCluster(3);
    await stage.checkAll('before');
    await stage.endPings();
    await cluster.stopCiliumOperator();
    await cluster.startCiliumOperator(['--ipam=kubernetes']);
    const [was = ''] = (await cluster.blocks()).n1 ?? [];
    const write = (cidr: string) =>
      cluster.world.must('PATCH', `${ciliumPaths.nodes}/n1`, {
        spec: { ipam: { podCIDRs: [cidr] } },
      });
    await write('10.50.77.0/24');
    await stage.whenAnnounced();
    const pod = await cluster.pods.start('late', 'n1');
    stage.check(pod.address.startsWith(was.replace(/0\/24$/, '')), `new pod: ${pod.address}`);
    // Two faults, each seen by itself: where the agent is, and where its pods are.
    const findings = ['AgentOnOldBlock of n1', 'PodsOutsideBlocks of n1'];
    await stage.checkAll('another block is written', { findings });
    stage.step(
      `n1's CiliumNode says 10.50.77.0/24, a new pod gets ${pod.address} of ${was}; the doctor finds ${findings.join(', ')}`,
    );
    await write(was);
    await stage.whenAnnounced();
    await stage.pingSteadily([...cluster.pods.running.values()]);
    await stage.checkAll('written back');
    stage.step('written back: every pod answers again, nothing is found');
  },
};

const agentUses = async (stage: Stage, node: string): Promise<string> =>
  (await stage.cluster.ciliumNodes())
    .find(({ metadata }) => metadata.name === node)
    ?.spec.addresses?.find(({ type }) => type === 'CiliumInternalIP')?.ip ?? '';

const migrate: Scenario = {
  name: 'migrate',
  mode: 'cluster-pool',
  what: '`cadastre migrate apply` moves a node to another pool, `undo` brings it back',
  async play(stage) {
    const { cluster } = stage;
    const { world } = cluster;
    await stage.standardCluster(3);
    const before = await cluster.blocks();
    await cluster.stopCiliumOperator();
    await cluster.startCiliumOperator(['--ipam=kubernetes']);
    const flags = ['--ipam=ip-pool', '--project=ciliumnode'];
    await world.registerCrds();
    await world.createPool('pods', {
      cidrs: [podNetwork],
      blockSize: { ipv4: 24 },
      nodeSelector: { matchExpressions: [{ key: 'rack', operator: 'DoesNotExist' }] },
      cooldownSeconds: 5,
    });
    await world.createPool('rack', {
      cidrs: ['10.60.0.0/16'],
      blockSize: { ipv4: 24 },
      nodeSelector: { matchLabels: { rack: 'new' } },
      cooldownSeconds: 5,
    });
    await world.leader(flags);
    await whenHeld(stage, before);
    await stage.checkAll('handover');
    const command = async (word: 'apply' | 'undo', rack: string | null) => {
      // The pods of the other nodes do not move. n1's are evicted.
      await stage.endPings();
      await stage.pingSteadily(steady(stage).filter(({ node }) => node !== 'n1'));
      await world.patchNode('n1', { metadata: { labels: { rack } } });
      return cluster.cadastre(['migrate', word, 'n1', '--yes', '--timeout=120']);
    };
    const move = async (word: 'apply' | 'undo', rack: string | null, to: string) => {
      const took = await stage.timed(async () => {
        const answer = await command(word, rack);
        stage.check(answer.code === 0, `migrate ${word}: ${answer.stdout}${answer.stderr}`);
      });
      await stage.checkAll(`migrate ${word}`);
      const [block = ''] = (await cluster.blocks()).n1 ?? [];
      const uses = await agentUses(stage, 'n1');
      stage.check(uses.startsWith(to), `n1's agent uses ${uses}, its block is ${block}`);
      const pod = await cluster.pods.start(`pod-${took.replace(/\D/g, '')}-${word}`, 'n1');
      stage.check(pod.address.startsWith(to), `a new pod of n1 has ${pod.address}`);
      await stage.pingSteadily([pod]);
      stage.step(`\`migrate ${word}\` in ${took}: n1 has ${block}, a new pod ${pod.address}`);
    };
    const old = before.n1?.[0]?.replace(/0\/24$/, '') ?? '';
    await move('apply', 'new', '10.60.');
    await move('undo', null, old);
    await move('apply', 'new', '10.60.');
    // Its old block goes to a node that joins, once it has cooled.
    await pause(6000);
    stage.step(`n4 joins: ${await join(stage, 'n4')}, with ${(await cluster.blocks()).n4}`);
    await stage.checkAll('n4 joined');
    const refused = await command('undo', 'new');
    stage.check(refused.code !== 0, 'migrate undo gave a block that another node has');
    await stage.checkAll('migrate undo refused');
    stage.step('`migrate undo` is refused: another node has the old block now');
    await cluster.restartAgents();
    await stage.checkAll('agents restarted');
  },
};

const multiPoolFlags = ['--ipam=multi-pool'];

const multiPool: Scenario = {
  name: 'multi-pool',
  mode: 'multi-pool',
  what: 'agents with `ipam: multi-pool`, `cadastre operator --ipam multi-pool` takes over from cilium-operator',
  async play(stage) {
    const { cluster } = stage;
    await stage.standardCluster(3);
    await stage.checkAll('three nodes');
    const before = await cluster.blocks();
    const took = await stage.timed(async () => {
      await cluster.stopCiliumOperator();
      await cluster.startCiliumOperator(['--ipam=kubernetes']);
      await cluster.world.registerCrds();
      await cluster.world.createPool('default', {
        cidrs: [podNetwork],
        blockSize: { ipv4: 27 },
        cooldownSeconds: 5,
      });
      await cluster.world.leader(multiPoolFlags);
      await whenHeld(stage, before);
    });
    stage.step(`all ${Object.values(before).flat().length} blocks adopted in ${took}`);
    await stage.checkAll('handover');
    // More pods than a /27 has addresses: the agent asks for another block.
    const names = Array.from({ length: 32 }, (_, at) => `many-${at}`);
    const filled = await stage.timed(async () => {
      for (const name of names) await cluster.pods.start(name, 'n1');
    });
    const blocks = (await cluster.blocks()).n1 ?? [];
    stage.check(blocks.length > 1, `n1 has 33 pods and ${blocks.join(', ')}`);
    stage.step(`32 more pods on n1 in ${filled}: it has ${blocks.join(', ')}`);
    await stage.checkAll('n1 has more than a block');
    stage.step(`n4 joins: ${await join(stage, 'n4')}`);
    await stage.checkAll('n4 joined');
    stage.step(`agents restarted in ${await stage.timed(() => cluster.restartAgents())}`);
    await cluster.world.stopOperators();
    await cluster.world.leader(multiPoolFlags);
    await stage.checkAll('agents and Cadastre restarted');
    const told = await recreateNode(stage, 'n2');
    stage.step(told);
    stage.check(told.includes('all pods answer'), told);
    await stage.checkAll('Node n2 deleted and made again');
  },
};

/** Our agent on a node of Cilium: it gives addresses to cilium-cni, and announces. */
async function installOurs(stage: Stage, name: string): Promise<void> {
  const machine = stage.cluster.machine(name);
  const plugin = ensureShim();
  if (plugin === undefined) throw new Error('no compiler for our CNI plugin');
  await machine.run([
    ...[
      process.execPath,
      await cadastreProgram(),
      'cni',
      'install',
      '--ipam-only',
      '--plugin',
      plugin,
    ],
    ...['--bin-dir', machine.plugins, '--conf-dir', machine.plugins],
  ]);
  await machine.startOurAgent(['--wiring=false']);
}

/** Until every agent of ours says itself that it announces the node's block, in a new session. */
async function whenOursAnnounce(stage: Stage, sinceMs: number): Promise<void> {
  const { world } = stage.cluster;
  await eventually(
    async () => {
      const reports = await world.list<{
        metadata: { name: string };
        status?: {
          sessions?: ReadonlyArray<{
            establishedAt?: string;
            announced?: ReadonlyArray<{ prefix: string }>;
          }>;
        };
      }>('/apis/cadastre.dev/v1alpha1/nodereports');
      for (const [node, cidrs] of Object.entries(await stage.blocks())) {
        const sessions = reports.find(({ metadata }) => metadata.name === node)?.status?.sessions;
        const told = (sessions ?? []).flatMap(({ establishedAt, announced }) =>
          Date.parse(establishedAt ?? '') >= sinceMs ? (announced ?? []) : [],
        );
        if (!cidrs.every((cidr) => told.some(({ prefix }) => prefix === cidr))) {
          throw new Error(`${node} says of its sessions: ${JSON.stringify(sessions)}`);
        }
      }
    },
    { withinMs: 90_000 },
  );
}

const delegated: Scenario = {
  name: 'delegated',
  mode: 'delegated-plugin',
  what: 'agents with `ipam: delegated-plugin`, our plugin as `ipam.type` under cilium-cni, our agent announces',
  async play(stage) {
    const { cluster } = stage;
    cluster.pods.netConf = { ...cluster.pods.netConf, ipam: { type: 'cadastre' } };
    await cluster.startCiliumOperator();
    await cluster.world.leader(['--ipam=ip-pool']);
    await cluster.world.createPool('pods', { cidrs: [podNetwork], blockSize: { ipv4: 24 } });
    await cluster.world.must('POST', '/apis/cadastre.dev/v1alpha1/bgppeers', {
      apiVersion: 'cadastre.dev/v1alpha1',
      kind: 'BGPPeer',
      metadata: { name: 'router' },
      spec: {
        address: router.address,
        asn: router.asn,
        localASN: nodeAsn,
        connectRetrySeconds: 1,
      },
    });
    await cluster.addNodes(3);
    for (const name of cluster.machines.keys()) await installOurs(stage, name);
    await eventually(async () => {
      const held = Object.keys(await stage.blocks());
      if (held.length < 3) throw new Error(`blocks are held by ${held.join(', ')}`);
    });
    await stage.whenAnnounced();
    await stage.podOnEach();
    await stage.checkAll('three nodes');
    stage.step('three nodes, a pod each, addresses by our plugin');
    stage.step(`Cilium's agents restarted in ${await stage.timed(() => cluster.restartAgents())}`);
    await stage.checkAll("Cilium's agents restarted");
    const announced = await stage.timed(async () => {
      const machines = [...cluster.machines.values()];
      // The report is of whole seconds.
      const sinceMs = Math.floor(Date.now() / 1000) * 1000;
      await Promise.all(machines.map((machine) => machine.restartOurAgent()));
      await whenOursAnnounce(stage, sinceMs);
    });
    await stage.checkAll('our agents restarted');
    stage.step(`our agents restarted: all of them announce again after ${announced}`);
    await cluster.pods.start('more', 'n1');
    await cluster.pods.end('more');
    await stage.checkAll('a pod came and went');
  },
};

export const scenarios: readonly Scenario[] = [
  baseline,
  handover,
  nodeSpec,
  annotations,
  multiPool,
  delegated,
  incident,
  migrate,
];
