/** A lab that exists: its machines, its processes, and how to ask each of them. */
import { join } from 'node:path';
import type { AgentStatusJson } from '../agent/agent-status.ts';
import { askAgent } from '../agent/ask-agent.ts';
import { CadastreError } from '../base/errors.ts';
import { KubeClient } from '../kube/client.ts';
import { loadKubeConfig } from '../kube/kubeconfig.ts';
import type { AddressStatusJson } from '../model/agent-api.ts';
import type { Family } from '../net/family.ts';
import { parsePrefix } from '../net/prefix.ts';
import { eventually } from './eventually.ts';
import { LabFolder, type LabManifest, type LabPod } from './folder.ts';
import { namespaceOf } from './layout.ts';
import { enterNamespace, ipBatch, ipJson, runInside } from './namespaces.ts';
import { LabProcesses } from './processes.ts';
import { readTopology } from './read-topology.ts';
import { type HeldPath, type HeldRoute, planRouter, stationOf, tableOf } from './routers/router.ts';
import { softwareOf } from './routers/softwares.ts';
import { startRouterSoftware } from './routers/start.ts';
import type { LabNode, LabRouter, Topology } from './topology.ts';

/** What the lab gets from the command line. */
export interface LabWorld {
  /** Where labs live. */
  readonly root: string;
  /** The command line that starts us, to start our parts with. */
  readonly cadastre: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** A line of words, for progress. */
  say(line: string): void;
}

type NodeStatus = AddressStatusJson & { agent: AgentStatusJson };

export class Lab {
  readonly name: string;
  readonly world: LabWorld;
  readonly folder: LabFolder;
  readonly topology: Topology;
  readonly processes: LabProcesses;
  #client: KubeClient | undefined;
  #leave: (() => void) | undefined;

  constructor(world: LabWorld, folder: LabFolder, topology: Topology) {
    this.name = folder.name;
    this.world = world;
    this.folder = folder;
    this.topology = topology;
    this.processes = new LabProcesses(folder);
  }

  static open(world: LabWorld, name: string): Lab {
    const folder = new LabFolder(world.root, name);
    const { topologyName, topologyText } = folder.read();
    const read = readTopology(topologyName, topologyText);
    if (read.kind === 'topology') return new Lab(world, folder, read.topology);
    throw new CadastreError(
      'BAD_INPUT',
      `the lab ${name} was made by another version of cadastre`,
      {
        remedy: `Take it down: cadastre lab down ${name}`,
      },
    );
  }

  get manifest(): LabManifest {
    return this.folder.read();
  }

  namespace(machine: string): string {
    return namespaceOf(this.name, machine);
  }

  node(name: string): LabNode {
    const found = this.topology.nodes.find((one) => one.name === name);
    if (found !== undefined) return found;
    const names = this.topology.nodes.map((one) => one.name).join(', ');
    throw new CadastreError('BAD_USAGE', `the lab ${this.name} has no node "${name}"`, {
      remedy: `Its nodes are ${names}.`,
    });
  }

  router(name: string): LabRouter {
    return this.topology.routers.find((one) => one.name === name)!;
  }

  get pods(): readonly LabPod[] {
    return this.manifest.pods;
  }

  /** The API server as its admin. From the first call on, this process is in the control namespace. */
  async client(): Promise<KubeClient> {
    if (this.#client !== undefined) return this.#client;
    this.#leave = enterNamespace(this.namespace('control'));
    const access = await loadKubeConfig({ kubeconfig: this.kubeconfigPath });
    this.#client = new KubeClient(access, { connections: 8 });
    return this.#client;
  }

  get kubeconfigPath(): string {
    return this.folder.file('control', 'kubeconfig');
  }

  async close(): Promise<void> {
    await this.#client?.close();
    this.#client = undefined;
    this.#leave?.();
    this.#leave = undefined;
  }

  // Routers.

  async startRouter(name: string): Promise<void> {
    const software = softwareOf(this.manifest.software[name]);
    if (software === undefined) return;
    const folder = this.folder.makeFolder('routers', name);
    const plan = planRouter(this.topology, this.router(name));
    await startRouterSoftware(this.processes, {
      name,
      namespace: this.namespace(name),
      folder,
      files: software.files(plan, folder),
      processes: software.processes(folder, this.world.cadastre),
      user: software.user,
    });
  }

  async endRouter(name: string): Promise<void> {
    const software = softwareOf(this.manifest.software[name]);
    const parts = software?.processes('', []) ?? [];
    await Promise.all(parts.map((part) => this.processes.end(`${name}-${part.name}`, 'SIGKILL')));
  }

  isRouterRunning(name: string): boolean {
    const parts = softwareOf(this.manifest.software[name])?.processes('', []) ?? [];
    return parts.every((part) => this.processes.isRunning(`${name}-${part.name}`));
  }

  /** What a router's own command shows: pods' blocks, not the site's subnets. */
  async tableOf(name: string): Promise<HeldRoute[]> {
    return tableOf(await this.pathsOf(name));
  }

  /** The same with the paths that it does not use. */
  async pathsOf(name: string): Promise<HeldPath[]> {
    const software = softwareOf(this.manifest.software[name]);
    if (software === undefined) return [];
    const { families } = planRouter(this.topology, this.router(name));
    const tables = await Promise.all(families.map((family) => this.#paths(name, family)));
    return tables
      .flat()
      .filter(({ prefix }) => !this.isSubnet(prefix))
      .sort((a, b) => parsePrefix(a.prefix)!.compare(parsePrefix(b.prefix)!));
  }

  async #paths(name: string, family: Family): Promise<HeldPath[]> {
    const software = softwareOf(this.manifest.software[name])!;
    const folder = this.folder.file('routers', name);
    const command = software.tableCommand(folder, family);
    if (command === undefined) {
      const words = `${family === 'ipv4' ? '-4' : '-6'} route show proto ${software.routeProtocol}`;
      const routes = await ipJson<Array<{ dst: string; gateway?: string }>>(
        this.namespace(name),
        words,
      );
      return routes.map(({ dst, gateway }) => ({
        prefix: dst,
        nextHop: gateway ?? '',
        isBest: true,
      }));
    }
    const { stdout, stderr, code } = await runInside(this.namespace(name), command);
    if (code !== 0) throw new CadastreError('LAB_FAILED', `${name}: ${stderr || stdout}`);
    return software.readPaths(stdout);
  }

  /** One of the site's own networks, not a block of pods. */
  isSubnet(prefix: string): boolean {
    return this.topology.subnets.some(({ cidrs }) => Object.values(cidrs).includes(prefix));
  }

  // The cluster.

  operatorName(index: number): string {
    return `operator-${index}`;
  }

  startOperator(index: number): void {
    const { mode, clusterPool, cooldownSeconds, witness } = this.topology;
    const name = this.operatorName(index);
    const pool =
      clusterPool === undefined
        ? []
        : [
            `--cluster-pool-ipv4-cidr=${clusterPool.cidr}`,
            `--cluster-pool-ipv4-mask-size=${clusterPool.maskSize}`,
            ...(cooldownSeconds === undefined ? [] : [`--cooldown-seconds=${cooldownSeconds}`]),
          ];
    this.processes.start(name, this.namespace('control'), [
      ...this.world.cadastre,
      'operator',
      `--kubeconfig=${this.kubeconfigPath}`,
      `--identity=${name}`,
      `--listen=127.0.0.1:${operatorPort(index)}`,
      `--ipam=${mode.name}`,
      // The API server of a lab knows one user.
      '--believe-reports=all',
      ...pool,
      ...(witness ? this.#witnessFlags(index) : []),
    ]);
  }

  /** FRR reports by BMP, BIRD by a BGP session. */
  #witnessFlags(index: number): string[] {
    const { address, bmpPort, bgpPort } = stationOf(index);
    const asn = this.topology.routers.find((one) => one.asn !== undefined)?.asn;
    return [
      `--witness=bmp=${address}:${bmpPort}`,
      `--witness=bgp=${address}:${bgpPort},as=${asn},peer-as=${asn}`,
    ];
  }

  /** Its caches are synced. Asked inside the control namespace, which `client()` has entered. */
  async whenOperatorReady(index: number): Promise<void> {
    const name = this.operatorName(index);
    await this.client();
    await eventually(
      `${name} is ready`,
      async () => {
        const answer = await fetch(`http://127.0.0.1:${operatorPort(index)}/readyz`);
        await answer.text();
        return answer.ok ? true : undefined;
      },
      { why: () => this.processes.tail(name, 4) },
    );
  }

  /** Both links of a node are down, at once and without a word. */
  async unplug(node: string): Promise<void> {
    await ipBatch(this.namespace(node), ['link set eth0 down', 'link set mgmt0 down']);
  }

  agentName(node: string): string {
    return `agent-${node}`;
  }

  agentSocket(node: string): string {
    return this.folder.file('nodes', node, 'agent.sock');
  }

  /** One that runs already is left alone. */
  startAgent(node: string): void {
    if (this.processes.isRunning(this.agentName(node))) return;
    const folder = this.folder.makeFolder('nodes', node);
    const { mode, routing, reconfirmAfterSeconds } = this.topology;
    this.processes.start(this.agentName(node), this.namespace(node), [
      ...this.world.cadastre,
      'agent',
      `--kubeconfig=${this.kubeconfigPath}`,
      `--node-name=${node}`,
      `--socket=${this.agentSocket(node)}`,
      `--state-dir=${join(folder, 'state')}`,
      `--ipam=${mode.name}`,
      `--routing=${routing}`,
      ...(routing === 'native' ? ['--auto-direct-node-routes'] : []),
      // Routers and hosts of the site are to see the pods' own addresses.
      '--masquerade=false',
      '--drain-grace=3',
      ...(reconfirmAfterSeconds === undefined
        ? []
        : [`--reconfirm-after=${reconfirmAfterSeconds}`]),
    ]);
  }

  async agentStatus(node: string): Promise<NodeStatus> {
    return (await askAgent(this.agentSocket(node), 'GET', '/v1/status')) as NodeStatus;
  }

  /** A command inside a machine. */
  run(machine: string, command: readonly string[], stdin?: string) {
    return runInside(this.namespace(machine), command, stdin === undefined ? {} : { stdin });
  }
}

/** Replicas share the control namespace. */
function operatorPort(index: number): number {
  return 9470 + index * 10;
}
