/** A cluster of kubelets that exists: its machines, and how to reach each of them. */

import { CadastreError } from '../../base/errors.ts';
import { type Family, families } from '../../net/family.ts';
import { eventually } from '../eventually.ts';
import { LabFolder } from '../folder.ts';
import type { LabWorld } from '../lab.ts';
import { namespaceOf } from '../layout.ts';
import {
  deleteNamespaces,
  hasNamespace,
  ipBatch,
  namespacePath,
  runInside,
  writeSettings,
} from '../namespaces.ts';
import { LabProcesses } from '../processes.ts';
import { frr } from '../routers/frr.ts';
import type { HeldPath } from '../routers/router.ts';
import { readHierarchies } from './cgroups.ts';
import { connectLines, hostLines, nodeHost, nodeSettings } from './layout.ts';
import { NodeMachine } from './node-machine.ts';
import {
  containerdSocket,
  importCommand,
  type NodeProgram,
  nodeCommand,
  nodePrograms,
} from './node-programs.ts';
import {
  type ApiServerKind,
  type ContainerdMajor,
  findPrograms,
  type Programs,
} from './programs.ts';
import { type RouterSession, readSessions, sessionsCommand } from './router.ts';

export interface ClusterManifest {
  readonly name: string;
  readonly createdAt: string;
  /** The containerd of node1, node2 … */
  readonly containerds: readonly ContainerdMajor[];
  readonly apiServer: ApiServerKind;
  /** Namespaces that are, or were about to be, made. */
  readonly namespaces: readonly string[];
  /** Likewise cgroups, each with its whole path. */
  readonly cgroups: readonly string[];
  /** False until `up` has come to its end. */
  readonly isUp: boolean;
}

export type ClusterFolder = LabFolder<ClusterManifest>;

export function clusterFolder(root: string, name: string): ClusterFolder {
  return new LabFolder<ClusterManifest>(root, name, 'lab cluster');
}

export class KubeletCluster {
  readonly name: string;
  readonly world: LabWorld;
  readonly folder: ClusterFolder;
  readonly processes: LabProcesses;
  readonly apiServer: ApiServerKind;
  readonly #containerds: readonly ContainerdMajor[];
  #programs: Programs | undefined;

  constructor(
    world: LabWorld,
    folder: ClusterFolder,
    { containerds, apiServer }: Pick<ClusterManifest, 'containerds' | 'apiServer'>,
  ) {
    this.name = folder.name;
    this.world = world;
    this.folder = folder;
    this.processes = new LabProcesses(folder);
    this.apiServer = apiServer;
    this.#containerds = containerds;
  }

  static open(world: LabWorld, name: string): KubeletCluster {
    const folder = clusterFolder(world.root, name);
    return new KubeletCluster(world, folder, folder.read());
  }

  /** Refused with what is missing, where a program is. */
  get programs(): Programs {
    this.#programs ??= findPrograms(this.world.env, {
      containerds: this.#containerds,
      apiServer: this.apiServer,
    });
    return this.#programs;
  }

  /** For the machine itself. */
  get kubeconfigPath(): string {
    return this.folder.file('kubeconfig');
  }

  /** For processes inside, where the API server has its own address. */
  get insideKubeconfigPath(): string {
    return this.folder.file('control', 'admin.conf');
  }

  get nodeNames(): string[] {
    return this.#containerds.map((_, at) => nodeHost(at + 1).name);
  }

  namespace(machine: string): string {
    return namespaceOf(this.name, machine);
  }

  machine(node: string): NodeMachine {
    this.#index(node);
    return new NodeMachine(
      {
        name: node,
        namespace: this.namespace(node),
        folder: this.folder.file('nodes', node),
        hierarchies: readHierarchies(),
      },
      this.processes,
    );
  }

  /** Makes the network of a node and starts its first process: a machine without programs. */
  async powerOn(node: string): Promise<void> {
    const host = nodeHost(this.#index(node));
    const namespace = this.namespace(node);
    await ipBatch(undefined, [`netns add ${namespace}`]);
    writeSettings(namespace, nodeSettings);
    await ipBatch(this.namespace('router'), connectLines(this.name, host));
    await ipBatch(namespace, hostLines(host));
    await this.machine(node).start();
  }

  /** Its processes, its interfaces and what was in /run are gone at once, untold. */
  async cutPower(node: string): Promise<void> {
    await this.machine(node).cutPower();
    const namespace = this.namespace(node);
    if (hasNamespace(namespace)) await deleteNamespaces([namespace]);
    // Its end of the wire goes when the last holder of the namespace has let go.
    await eventually(`${node} is unplugged`, async () => {
      const links = await runInside(this.namespace('router'), ['ip', 'link', 'show', `to-${node}`]);
      return links.code !== 0 || undefined;
    });
  }

  /** As a machine does after a power cut. */
  async boot(node: string): Promise<void> {
    await this.powerOn(node);
    for (const program of nodePrograms) this.startProgram(node, program);
  }

  startProgram(node: string, program: NodeProgram): void {
    const index = this.#index(node);
    const { command, env } = nodeCommand(
      program,
      nodeHost(index),
      this.containerdOf(node),
      this.programs,
    );
    this.machine(node).startService(program, command, env);
  }

  async whenContainerdServes(node: string): Promise<void> {
    const machine = this.machine(node);
    await eventually(
      `containerd of ${node} serves`,
      async () => (await machine.run([...this.#ctr(node), 'version'])).code === 0 || undefined,
      { why: () => this.processes.tail(machine.service('containerd').name) },
    );
  }

  async importImage(node: string, file: string): Promise<void> {
    const command = importCommand(this.containerdOf(node), this.programs);
    const { code, stderr } = await this.machine(node).run(command, { stdinFile: file });
    if (code !== 0) {
      throw new CadastreError('LAB_FAILED', `${node} cannot import ${file}: ${stderr.trim()}`);
    }
  }

  containerdOf(node: string): ContainerdMajor {
    return this.#containerds[this.#index(node) - 1]!;
  }

  /** How to run a command in any machine: a node, the router, the control plane. */
  commandLine(machine: string, command: readonly string[]): string[] {
    if (this.nodeNames.includes(machine)) return this.machine(machine).commandLine(command);
    if (machine === 'router' || machine === 'control') {
      return ['nsenter', `--net=${namespacePath(this.namespace(machine))}`, ...command];
    }
    throw new CadastreError('BAD_USAGE', `the cluster ${this.name} has no machine "${machine}"`, {
      remedy: `There are ${['router', 'control', ...this.nodeNames].join(', ')}.`,
    });
  }

  /** All paths in the router's table, of both families. */
  async routerPaths(): Promise<HeldPath[]> {
    const tables = families.map((family) => this.routerDump(family));
    return (await Promise.all(tables)).flatMap(frr.readPaths);
  }

  /** The router's table as vtysh prints it, in JSON. */
  routerDump(family: Family): Promise<string> {
    return this.#askRouter(frr.tableCommand(this.folder.file('router'), family)!);
  }

  async routerSessions(): Promise<RouterSession[]> {
    return readSessions(await this.#askRouter(sessionsCommand(this.folder.file('router'))));
  }

  async #askRouter(command: readonly string[]): Promise<string> {
    const { stdout, stderr, code } = await runInside(this.namespace('router'), command);
    if (code !== 0) throw new CadastreError('LAB_FAILED', `router: ${stderr || stdout}`);
    return stdout;
  }

  #ctr(node: string): string[] {
    const [ctr = ''] = importCommand(this.containerdOf(node), this.programs);
    return [ctr, '--address', containerdSocket];
  }

  /** Counted from 1. */
  #index(node: string): number {
    const index = this.nodeNames.indexOf(node) + 1;
    if (index > 0) return index;
    throw new CadastreError('BAD_USAGE', `the cluster ${this.name} has no node "${node}"`, {
      remedy: `Its nodes are ${this.nodeNames.join(', ')}.`,
    });
  }
}
