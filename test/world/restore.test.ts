/**
 * etcd restored from a backup under real agents and an operator that run on: no address
 * is in the books of two agents, and in the end the register is what agents use.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadKubeConfig } from '../../src/kube/kubeconfig.ts';
import { parseAddress } from '../../src/net/address.ts';
import { parsePrefix } from '../../src/net/prefix.ts';
import { AgentMachine } from '../parts/agent-machine.ts';
import { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';

const patience = { withinMs: 120_000, everyMs: 50 };
let cluster: Cluster;
const machines: AgentMachine[] = [];

beforeEach(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
});
afterEach(async () => {
  await Promise.all(machines.splice(0).map((machine) => machine.end()));
  await cluster?.stop();
});

async function joinNode(name: string, at: number, byDemand: boolean): Promise<AgentMachine> {
  await cluster.createNode(name, { addresses: [`10.4.94.${at}`] });
  const access = await loadKubeConfig({ kubeconfig: cluster.api.kubeconfigPath });
  const settings = { byDemand, preAllocate: 4 };
  const machine = await AgentMachine.start(access, name, `10.4.94.${at}`, settings);
  machines.push(machine);
  return machine;
}

/** The folder of etcd, copied while it is down, and put back later in the same way. */
async function backUp(): Promise<string> {
  const backup = join(cluster.dir, 'backup');
  await cluster.api.restart(() => cpSync(etcd(), backup, { recursive: true }));
  await cluster.reconnect();
  return backup;
}

async function restore(backup: string): Promise<void> {
  await cluster.api.restart(() => {
    rmSync(etcd(), { recursive: true });
    cpSync(backup, etcd(), { recursive: true });
  });
  await cluster.reconnect();
}

const etcd = () => join(cluster.api.dir, 'etcd');

/** Until every address of every agent lies in a block that is registered to its node. */
async function isWhole(): Promise<void> {
  await eventually(async () => {
    const blocks = (await cluster.blocks()).map(({ spec }) => ({
      prefix: parsePrefix(spec.cidr)!,
      owner: spec.node?.name,
    }));
    for (const machine of machines) {
      for (const text of machine.addresses()) {
        const address = parseAddress(text)!;
        const owners = blocks.filter(({ prefix }) => prefix.contains(address));
        expect([text, owners.map(({ owner }) => owner)]).toEqual([text, [machine.name]]);
      }
    }
  }, patience);
}

function isNothingDoubled(): void {
  const all = machines.flatMap((machine) => machine.addresses());
  expect(all.filter((one, at) => all.indexOf(one) !== at)).toEqual([]);
}

test('cluster-pool-v2: second blocks that the backup does not have', {
  timeout: 400_000,
}, async () => {
  await cluster.leader([
    ...['--ipam=cluster-pool-v2', '--cluster-pool-ipv4-cidr=10.60.0.0/20'],
    ...['--cluster-pool-ipv4-mask-size=28', '--project=none', '--settle-after-restore=60'],
  ]);
  const a = await joinNode('a', 1, true);
  const b = await joinNode('b', 2, true);
  await a.runPods(4);
  await b.runPods(4);
  const backup = await backUp();
  await isWhole();
  // A rollout on each: they need more than one block now, b's before a's.
  await b.runPods(16);
  await a.runPods(16);
  await isWhole();
  await restore(backup);
  await joinNode('new', 3, true);
  await machines[2]!.runPods(8);
  await a.runPods(12);
  await b.runPods(12);
  await isWhole();
  isNothingDoubled();
});

test('ip-pool: nodes that joined after the backup, registered again in another order', {
  timeout: 400_000,
}, async () => {
  await cluster.createPool('p', { cidrs: ['10.61.0.0/20'], blockSize: { ipv4: 28 } });
  await cluster.leader(['--settle-after-restore=60']);
  const old = await joinNode('old', 1, false);
  await old.runPods(3);
  const backup = await backUp();
  const a = await joinNode('a', 2, false);
  await a.runPods(5);
  const b = await joinNode('b', 3, false);
  await b.runPods(5);
  await isWhole();
  await restore(backup);
  for (const machine of [b, a]) {
    await cluster.createNode(machine.name, { addresses: [machine.address] });
  }
  const late = await joinNode('late', 4, false);
  await late.runPods(5);
  await a.runPods(3);
  await b.runPods(3);
  await isWhole();
  isNothingDoubled();
});
