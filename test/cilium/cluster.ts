/**
 * A cluster with the real Cilium: an API server, nodes that are namespaces with an agent
 * each, cilium-operator, FRR outside, and Cadastre's operator as a process where a scenario
 * wants it. Kubelets there are none: `Pods` calls cilium-cni and writes the pods' status.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { cacheDir } from '../../scripts/checkout.mjs';
import { withLock } from '../../scripts/lock.mjs';
import { deleteNamespaces, endProcesses, runInside } from '../../src/lab/namespaces.ts';
import { families } from '../../src/net/family.ts';
import { startControllerManager } from '../parts/controller-manager.ts';
import { freePort } from '../parts/free-port.ts';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { Cluster as World } from '../world/cluster.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import { apiServerOf, ciliumConfig, podNetwork, type Site, writeConfigFiles } from './config.ts';
import { Fabric, removeFabric } from './fabric.ts';
import { Kubelet } from './kubelet.ts';
import { prefix } from './layout.ts';
import { Machine } from './machine.ts';
import {
  type Announces,
  agentDaemonSet,
  bgpObjects,
  bgpPaths,
  ciliumPaths,
  operatorDeployment,
} from './objects.ts';
import { Pods } from './pods.ts';

export interface CiliumNode {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: {
    readonly addresses?: ReadonlyArray<{ readonly type: string; readonly ip: string }>;
    readonly ipam?: {
      readonly podCIDRs?: readonly string[];
      readonly pools?: {
        readonly allocated?: ReadonlyArray<{ readonly pool: string; readonly cidrs: string[] }>;
        readonly requested?: ReadonlyArray<{ readonly pool: string; readonly needed: object }>;
      };
    };
  };
}

export interface Finding {
  readonly reason: string;
  readonly severity: string;
  readonly [field: string]: unknown;
}

export interface CommandAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class CiliumCluster {
  readonly world: World;
  readonly fabric: Fabric;
  readonly machines = new Map<string, Machine>();
  readonly pods: Pods;
  /** The data of cilium-config. What is changed here counts from the next start of an agent. */
  config: Record<string, string>;
  readonly isDual: boolean;
  readonly #cilium: string;
  readonly #kubeconfig: string;
  #operator: PartProcess | undefined;
  #operators = 0;
  #operatorFlags: readonly string[] = [];
  #kubelet: Kubelet | undefined;

  private constructor(world: World, fabric: Fabric, cilium: string, site: Site) {
    this.world = world;
    this.fabric = fabric;
    this.#cilium = cilium;
    this.config = ciliumConfig(site);
    this.isDual = site.isDual === true;
    this.#kubeconfig = writeNodeKubeconfig(world);
    this.pods = new Pods(this, cilium);
  }

  /** Names and addresses are the machine's: a second run waits until the first has ended. */
  static use<T>(
    cilium: string,
    site: Site,
    work: (cluster: CiliumCluster) => Promise<T>,
  ): Promise<T> {
    const onWait = (waitedMs: number, owner: number) =>
      console.error(
        `process ${owner} runs Cilium on this machine; waiting (${Math.round(waitedMs / 1000)} s)`,
      );
    return withLock(join(cacheDir(), 'locks/cilium-run'), onWait, async () => {
      const cluster = await CiliumCluster.#start(cilium, site);
      try {
        return await work(cluster);
      } finally {
        await cluster.#stop();
      }
    });
  }

  static async #start(cilium: string, site: Site): Promise<CiliumCluster> {
    await removeLeftovers();
    const world = await World.start({ extraArgs: ['--bind-address=0.0.0.0'] });
    try {
      const fabric = await Fabric.start(world.dir);
      const cluster = new CiliumCluster(world, fabric, cilium, site);
      await cluster.writeConfig();
      const daemonSet = await world.must<{ metadata: { uid: string } }>(
        'POST',
        '/apis/apps/v1/namespaces/kube-system/daemonsets',
        agentDaemonSet,
      );
      cluster.#kubelet = new Kubelet(cluster, daemonSet.metadata.uid);
      await cluster.pods.createOwner();
      // A CiliumNode goes with its Node, and a CiliumEndpoint with its Pod.
      await startControllerManager(world.api, {
        clusterCidrs: [podNetwork],
        controllers: ['garbage-collector-controller'],
      });
      return cluster;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  async #stop(): Promise<void> {
    await this.#kubelet?.close();
    await this.pods.close();
    await this.stopCiliumOperator();
    await Promise.all([...this.machines.values()].map((machine) => machine.down()));
    await this.fabric.stop();
    await this.world.stop();
  }

  /** Everybody's, for whoever wants to know why something was not right. */
  keepLogs(folder: string): void {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    for (const name of this.machines.keys()) {
      copyFileSync(
        join(this.world.dir, name, 'agent.log'),
        join(folder, `cilium-agent-${name}.log`),
      );
    }
    for (const file of readdirSync(this.world.dir)) {
      if (file.endsWith('.log')) copyFileSync(join(this.world.dir, file), join(folder, file));
    }
  }

  /** Of the router and of every node: FRR's table, and the kernels'. */
  async routes(): Promise<string> {
    const namespaces = [...this.machines.values()].map(({ namespace }) => namespace);
    const kernels = [this.fabric.namespace, ...namespaces].map(
      async (name) => `${name}:\n${(await runInside(name, ['ip', 'route'])).stdout}`,
    );
    return `FRR: ${(await this.fabric.table()).join('; ')}\n${(await Promise.all(kernels)).join('')}`;
  }

  /** cilium-config as it stands in the API. */
  async writeConfig(): Promise<void> {
    const path = '/api/v1/namespaces/kube-system/configmaps';
    const body = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'cilium-config', namespace: 'kube-system' },
      data: this.config,
    };
    const { status } = await this.world.call('PUT', `${path}/cilium-config`, body);
    if (status === 404) await this.world.must('POST', path, body);
  }

  /** Flags stand beside cilium-config, as in the Deployment's `args`. */
  async startCiliumOperator(flags: readonly string[] = []): Promise<void> {
    this.#operatorFlags = flags;
    const deployment = operatorDeployment(flags);
    const path = '/apis/apps/v1/namespaces/kube-system/deployments';
    const { status } = await this.world.call('PUT', `${path}/cilium-operator`, deployment);
    if (status === 404) await this.world.must('POST', path, deployment);
    const folder = join(this.world.dir, 'operator-config');
    mkdirSync(folder, { recursive: true });
    writeConfigFiles(folder, this.config);
    this.#operator = startPart({
      name: 'cilium-operator',
      binary: join(this.#cilium, 'cilium-operator'),
      args: [
        `--config-dir=${folder}`,
        ...flags,
        `--k8s-kubeconfig-path=${this.#kubeconfig}`,
        '--k8s-namespace=kube-system',
        `--operator-api-serve-addr=127.0.0.1:${await freePort()}`,
        '--enable-metrics=false',
        // Its pods are what it looks for to remove taints; here there are none.
        '--remove-cilium-node-taints=false',
        '--set-cilium-is-up-condition=false',
        '--unmanaged-pod-watcher-interval=0',
        '--leader-election-lease-duration=4s',
        '--leader-election-renew-deadline=3s',
        '--leader-election-retry-period=1s',
        '--nodes-gc-interval=0',
      ],
      env: { CILIUM_K8S_NAMESPACE: 'kube-system', KUBERNETES_SERVICE_HOST: '' },
      logFile: join(this.world.dir, `cilium-operator-${++this.#operators}.log`),
      dir: this.world.dir,
    });
    const operator = this.#operator;
    await eventually(
      async () => {
        if (operator.ended)
          throw new Error(`cilium-operator ${operator.ended}: ${operator.tail()}`);
        // It registers those of BGP only where that is on.
        const isBgpOn = this.config['enable-bgp-control-plane'] === 'true';
        const own = isBgpOn ? Object.values(bgpPaths) : [];
        for (const path of [...Object.values(ciliumPaths), ...own]) {
          if ((await this.world.call('GET', `${path}?limit=1`)).status !== 200) {
            throw new Error(`cilium-operator has not registered ${path}: ${operator.tail()}`);
          }
        }
      },
      { withinMs: 60_000 },
    );
  }

  /** With the flags it had, or with others. */
  async restartCiliumOperator(flags = this.#operatorFlags): Promise<void> {
    await this.stopCiliumOperator();
    await this.startCiliumOperator(flags);
  }

  async stopCiliumOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  async announce(what = this.#announces): Promise<void> {
    for (const object of bgpObjects(what, this.isDual)) {
      await this.world.must('POST', bgpPaths[object.kind]!, object);
    }
  }

  /** In multi-pool an advertisement of type PodCIDR announces nothing. */
  get #announces(): Announces {
    return this.config.ipam === 'multi-pool' ? 'CiliumPodIPPool' : 'PodCIDR';
  }

  /** The machine, its Node and its agent; back when the agent is started, not when it serves. */
  async addNode(name: string, more: { podCIDRs?: string[] } = {}): Promise<Machine> {
    const machine = new Machine({
      name,
      cilium: this.#cilium,
      dir: this.world.dir,
      kubeconfig: this.#kubeconfig,
    });
    this.machines.set(name, machine);
    await machine.up(this.fabric);
    await this.createNode(name, more);
    await machine.startAgent(this.config);
    await this.#kubelet?.createAgentPod(name);
    return machine;
  }

  async createNode(name: string, more: { podCIDRs?: string[] } = {}): Promise<void> {
    const { address, address6 } = this.machines.get(name)!;
    await this.world.createNode(name, {
      ...more,
      labels: { 'kubernetes.io/hostname': name },
      addresses: this.isDual ? [address, address6] : [address],
    });
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' };
    await this.world.must('PATCH', `/api/v1/nodes/${name}/status`, {
      status: { conditions: [ready] },
    });
  }

  async addNodes(count: number): Promise<void> {
    const from = this.machines.size;
    const names = Array.from({ length: count }, (_, at) => `n${from + at + 1}`);
    for (const name of names) await this.addNode(name);
    await Promise.all(names.map((name) => this.machines.get(name)!.whenAgentServes()));
  }

  machine(name: string): Machine {
    const found = this.machines.get(name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  }

  async restartAgents(): Promise<void> {
    await Promise.all([...this.machines.values()].map((one) => one.restartAgent(this.config)));
  }

  ciliumNodes(): Promise<CiliumNode[]> {
    return this.world.list<CiliumNode>(ciliumPaths.nodes);
  }

  /** By node: all blocks of its CiliumNode, of whatever mode. */
  async blocks(): Promise<Record<string, string[]>> {
    const nodes = await this.ciliumNodes();
    return Object.fromEntries(
      nodes.map(({ metadata, spec }) => [
        metadata.name,
        [
          ...(spec.ipam?.podCIDRs ?? []),
          ...(spec.ipam?.pools?.allocated ?? []).flatMap(({ cidrs }) => cidrs),
        ],
      ]),
    );
  }

  /** The command line, as a person types it. */
  async cadastre(args: readonly string[]): Promise<CommandAnswer> {
    return (await this.startCadastreCommand(args)).answer;
  }

  /** The same, for whoever wants to kill it. */
  async startCadastreCommand(
    args: readonly string[],
  ): Promise<{ answer: Promise<CommandAnswer>; kill(): void }> {
    const program = await cadastreProgram();
    let kill = () => {};
    const answer = new Promise<CommandAnswer>((resolve) => {
      const child = execFile(
        process.execPath,
        [program, ...args],
        {
          env: { ...process.env, KUBECONFIG: this.world.api.kubeconfigPath },
          maxBuffer: 64 << 20,
          timeout: 300_000,
        },
        (error, stdout, stderr) =>
          resolve({ code: error ? Number(error.code ?? 255) : 0, stdout, stderr }),
      );
      child.stdin?.end();
      kill = () => child.kill('SIGKILL');
    });
    return { answer, kill: () => kill() };
  }

  /** Its node IPAM controller: it fills in Node.spec, whoever reads that. */
  async startNodeIpam(): Promise<void> {
    await startControllerManager(this.world.api, { clusterCidrs: [podNetwork], maskIpv4: 24 });
  }

  /** What `cadastre doctor -o json` finds, with what the router holds. */
  async doctor(args: readonly string[] = []): Promise<Finding[]> {
    const dumps = await Promise.all(
      families.map(async (family) => {
        const file = this.world.writeFile(`router-${family}.json`, await this.fabric.dump(family));
        return ['--rib', `router=${file}`];
      }),
    );
    const answer = await this.cadastre(['doctor', '-o', 'json', ...dumps.flat(), ...args]);
    if (answer.code > 1) throw new Error(`cadastre doctor: ${answer.code}: ${answer.stderr}`);
    return (JSON.parse(answer.stdout) as { findings: Finding[] }).findings;
  }
}

/** From a node the API server has another address than its certificate says. */
function writeNodeKubeconfig(world: World): string {
  return world.writeFile(
    'node-kubeconfig',
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'node',
      clusters: [
        {
          name: 'site',
          cluster: {
            server: apiServerOf(world.api.port),
            'certificate-authority': world.api.caFile,
            'tls-server-name': 'kubernetes',
          },
        },
      ],
      contexts: [{ name: 'node', context: { cluster: 'site', user: 'admin' } }],
      users: [{ name: 'admin', user: { token: world.api.token } }],
    }),
  );
}

/** Of a run that was killed. Its processes have died with it. */
async function removeLeftovers(): Promise<void> {
  let names: string[] = [];
  try {
    names = readdirSync('/run/netns').filter((name) => name.startsWith(prefix));
  } catch {
    // No namespace was ever made.
  }
  await endProcesses(names);
  await deleteNamespaces(names);
  await removeFabric();
}
