/** What README, docs, plan, doctor and migrate promise about Cilium, played with the real one. */

import { eventually, pause } from '../world/eventually.ts';
import type { OperatorProcess } from '../world/operator-process.ts';
import { type Mode, podNetwork } from './config.ts';
import { ciliumPaths } from './objects.ts';
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

async function handOver(stage: Stage): Promise<OperatorProcess> {
  const { cluster } = stage;
  await cluster.stopCiliumOperator();
  // Its other duties stay; only its allocator is off.
  await cluster.startCiliumOperator(['--ipam=kubernetes']);
  return cluster.world.leader(clusterPoolFlags);
}

/** Until the register holds these blocks. */
async function whenHeld(stage: Stage, wanted: Readonly<Record<string, readonly string[]>>) {
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

/**
 * While the Node is gone its CiliumNode goes too, and with it routes and sessions: Cilium's
 * agent has it so. Says how long the node's pod was away, or that it did not come back.
 */
async function recreateNode(stage: Stage, name: string): Promise<string> {
  const { cluster } = stage;
  const had = (await cluster.blocks())[name];
  const deaths = cluster.machine(name).agentDeaths;
  await stage.endPings();
  await cluster.world.deleteNode(name);
  await eventually(async () => {
    // The garbage collector learns of a new kind after up to half a minute.
    await cluster.world.call('DELETE', `${ciliumPaths.nodes}/${name}`);
    const { status } = await cluster.world.call('GET', `/api/v1/nodes/${name}`);
    if (status !== 404) throw new Error(`${name} is still there`);
  });
  await pause(2000);
  const start = performance.now();
  await cluster.createNode(name);
  let words = '';
  try {
    await stage.whenAnnounced(30_000);
    await stage.pingSteadily([...cluster.pods.running.values()], 15_000);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    words = `all pods answer ${seconds} s after it is there again`;
  } catch {
    words = 'its pod does not answer any more';
    await stage.endPings(true);
  }
  const ended = cluster.machine(name).agentDeaths - deaths;
  const has = (await cluster.blocks())[name];
  return `Node ${name} deleted and made again: had ${had}, has ${has}, ${words}${ended > 0 ? ` (its agent ended by itself, and was started again)` : ''}`;
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

export const scenarios: readonly Scenario[] = [baseline, handover];
