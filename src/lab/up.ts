/** `lab up`: from a topology to pods that answer. */

import { chmodSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CadastreError } from '../base/errors.ts';
import type { KubeClient } from '../kube/client.ts';
import { crdResource } from '../kube/crds.ts';
import { createWhenKnown } from '../kube/create-when-known.ts';
import { bgpPeers, ciliumNodes, ipPools, nodes } from '../model/resources.ts';
import {
  type ApiServerPlan,
  findKubeParts,
  planEmbeddedApiServer,
  planRealApiServer,
} from './cluster/api-server.ts';
import {
  ciliumNodeCrd,
  ciliumNodeObject,
  nodeObject,
  peerObjects,
  poolObject,
} from './cluster/objects.ts';
import { eventually } from './eventually.ts';
import { LabFolder } from './folder.ts';
import { Lab, type LabWorld } from './lab.ts';
import { layOut, namespaceOf } from './layout.ts';
import { ipBatch, refuseForeignNamespaces, writeSettings } from './namespaces.ts';
import { addPod } from './pods.ts';
import { reachEverybody } from './reach.ts';
import { chooseSoftware } from './routers/softwares.ts';
import type { LoadedTopology } from './topologies.ts';
import { isReachableFromOutside, type LabNode, type Software } from './topology.ts';

interface UpOptions {
  readonly name: string;
  /** For the routers whose topology says nothing. */
  readonly routers: Software | undefined;
  readonly operators: number;
  /** Absent: the real one where it can be had. */
  readonly apiServer: 'real' | 'embedded' | undefined;
}

interface UpTimes {
  /** From the start to an API server that serves. */
  readonly apiServerSeconds: number;
  /** From there to all pods answering. */
  readonly convergedSeconds: number;
}

export async function bringUp(
  world: LabWorld,
  { topology, text }: LoadedTopology,
  options: UpOptions,
): Promise<{ lab: Lab; times: UpTimes }> {
  const { name } = options;
  const start = performance.now();
  const sinceMs = (from: number) => (performance.now() - from) / 1000;
  const say = (words: string) => world.say(`${sinceMs(start).toFixed(1).padStart(5)} s  ${words}`);
  const { chosen, missing } = chooseSoftware(topology, options.routers);
  if (missing.length > 0) {
    world.say(`${missing.join(' and ')} not installed: our own collector is the router`);
  }
  const assets = chooseApiServer(world, options.apiServer);
  const { machines, fabricLines } = layOut(name, topology);
  const namespaces = machines.map((machine) => namespaceOf(name, machine.name));
  const folder = new LabFolder(world.root, name);
  folder.refuseIfThere();
  refuseForeignNamespaces(namespaces);
  folder.create({
    name,
    createdAt: new Date().toISOString(),
    topologyName: topology.name,
    topologyText: text,
    software: chosen,
    apiServer: assets === undefined ? 'embedded' : 'real',
    namespaces,
    isUp: false,
    pods: [],
  });
  const lab = new Lab(world, folder, topology);

  await ipBatch(
    undefined,
    namespaces.map((namespace) => `netns add ${namespace}`),
  );
  for (const machine of machines) writeSettings(lab.namespace(machine.name), machine.settings);
  await ipBatch(lab.namespace('fabric'), fabricLines);
  await Promise.all(machines.map((machine) => ipBatch(lab.namespace(machine.name), machine.lines)));
  for (const { name: spare, isSpare } of topology.nodes) if (isSpare) await lab.unplug(spare);
  say(`${namespaces.length} namespaces: ${summary(machines.map(({ kind }) => kind))}`);

  const api = planApiServer(lab, assets);
  for (const part of api.processes) {
    lab.processes.start(part.name, lab.namespace('control'), part.command);
  }
  writeTools(lab);
  await Promise.all(topology.routers.map((router) => lab.startRouter(router.name)));
  const kinds = [...new Set(Object.values(chosen))].join(', ');
  say(`${topology.routers.length} routers (${kinds})`);

  const client = await whenServing(lab, api);
  const apiServerSeconds = sinceMs(start);
  const apiReady = performance.now();
  say(`the API server serves (${api.kind})`);

  const present = topology.nodes.filter(({ isSpare }) => !isSpare);
  await createNodes(client, present);
  for (let index = 1; index <= options.operators; index++) lab.startOperator(index);
  for (const node of present) lab.startAgent(node.name);
  for (const pool of topology.pools) await createWhenKnown(client, ipPools, poolObject(pool));
  for (const peer of peerObjects(topology)) await createWhenKnown(client, bgpPeers, peer);
  await Promise.all(present.map((node) => whenAgentReady(lab, node.name)));
  say(`${options.operators} operators, ${present.length} agents ready`);

  await Promise.all(
    present.map(async (node) => {
      for (let index = 1; index <= node.pods; index++) {
        await addPod(lab, node.name, `${node.name}-${index}`);
      }
    }),
  );
  say(`${lab.pods.length} pods`);
  await reachEverybody(lab);
  const convergedSeconds = sinceMs(apiReady);
  const from = isReachableFromOutside(topology) ? 'from outside' : 'each other';
  say(`every pod answers ${from}, ${convergedSeconds.toFixed(1)} s after the API server was up`);
  folder.change((manifest) => ({ ...manifest, isUp: true }));
  return { lab, times: { apiServerSeconds, convergedSeconds } };
}

function planApiServer(lab: Lab, assets: string | undefined): ApiServerPlan {
  const folder = lab.folder.makeFolder('control');
  chmodSync(folder, 0o700);
  if (assets === undefined) return planEmbeddedApiServer(lab.world.cadastre, folder);
  const kubectl = join(assets, 'kubectl');
  const tools = lab.folder.makeFolder('bin');
  if (existsSync(kubectl)) symlinkSync(kubectl, join(tools, 'kubectl'));
  return planRealApiServer(assets, folder);
}

/** The folder with the real one, or undefined for our own. */
function chooseApiServer(world: LabWorld, asked: UpOptions['apiServer']): string | undefined {
  if (asked === 'embedded') return undefined;
  const assets = findKubeParts(world.env);
  if (assets !== undefined || asked === undefined) return assets;
  throw new CadastreError('BAD_FLAG', '--api-server=real: no etcd and kube-apiserver here', {
    remedy: 'Point KUBEBUILDER_ASSETS at a folder with both, or leave the flag out.',
  });
}

/** `cadastre` and `kubectl` for whoever looks around by `lab exec`. */
function writeTools(lab: Lab): void {
  const quoted = lab.world.cadastre.map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  lab.folder.makeFolder('bin');
  const script = lab.folder.file('bin', 'cadastre');
  writeFileSync(script, `#!/bin/sh\nexec ${quoted.join(' ')} "$@"\n`, { mode: 0o755 });
}

async function whenServing(lab: Lab, api: ApiServerPlan): Promise<KubeClient> {
  const ended = () => {
    const dead = api.processes.find(({ name }) => !lab.processes.isRunning(name));
    if (dead === undefined) return;
    throw new CadastreError(
      'LAB_FAILED',
      `${dead.name} ended before it served:\n${lab.processes.tail(dead.name)}`,
    );
  };
  const { waitFor } = api;
  if (waitFor !== undefined) {
    await eventually(`the API server writes ${waitFor}`, () => existsSync(waitFor) || undefined);
  }
  ended();
  const client = await lab.client();
  await eventually(
    'the API server serves',
    async () => {
      ended();
      return (await client.rawGet('/readyz', { retries: 0 })) === 'ok' || undefined;
    },
    { withinMs: 120_000 },
  );
  return client;
}

async function createNodes(client: KubeClient, present: readonly LabNode[]): Promise<void> {
  const held = present.filter(({ ciliumPodCidr }) => ciliumPodCidr !== undefined);
  if (held.length > 0) {
    await client.create(crdResource, ciliumNodeCrd());
    for (const { name, ciliumPodCidr } of held) {
      await createWhenKnown(client, ciliumNodes, ciliumNodeObject(name, ciliumPodCidr!));
    }
  }
  for (const node of present) await client.create(nodes, nodeObject(node));
}

export async function whenAgentReady(lab: Lab, node: string): Promise<void> {
  let last = 'it never answered';
  await eventually(
    `the agent of ${node} is ready`,
    async () => {
      const { agent } = await lab.agentStatus(node);
      last = `${agent.reason}: ${agent.detail}`;
      return agent.ready && agent.reason === 'AgentReady' ? true : undefined;
    },
    { why: () => `${last}\n${lab.processes.tail(lab.agentName(node), 4)}` },
  );
}

function summary(kinds: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => (count === 1 ? kind : `${count} ${kind}s`)).join(', ');
}
