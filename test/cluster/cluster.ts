/**
 * A cluster of real kubelets for a test, made by `cadastre lab cluster up` as one
 * types it. Clusters lie in a folder of this test process; what a run that died
 * left behind is taken down by the next one.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureGoTool } from '../../scripts/go-tools.mjs';
import { ensureClusterParts, ensureKubeParts } from '../../scripts/parts.mjs';
import { KubeletCluster } from '../../src/lab/kubelets/cluster.ts';
import type { Answer } from '../../src/lab/kubelets/node-machine.ts';
import type { NodeProgram } from '../../src/lab/kubelets/node-programs.ts';
import { ipBatch, namespacePath, runInside } from '../../src/lab/namespaces.ts';
import { type HeldPath, type HeldRoute, tableOf } from '../../src/lab/routers/router.ts';
import { eventually } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';

const run = promisify(execFile);
const prefix = 'cadastre-clusters-';

export const clustersFolder = join(tmpdir(), `${prefix}${process.pid}`);

export interface ClusterOptions {
  /** Short: it becomes part of the names of namespaces and cgroups. */
  readonly name: string;
  readonly nodes?: number;
  readonly containerd?: '1' | '2' | 'both';
  readonly apiServer?: 'real' | 'embedded';
  /** Archives of images, beside pause, agnhost and busybox. */
  readonly images?: readonly string[];
}

export class Cluster {
  readonly name: string;
  readonly kubeconfig: string;
  /** For processes in its namespaces. */
  readonly insideKubeconfig: string;
  readonly #kubelets: KubeletCluster;
  #isClosed = false;
  readonly #tools: { readonly kubectl: string; readonly helm: string };

  private constructor(kubelets: KubeletCluster, tools: { kubectl: string; helm: string }) {
    this.name = kubelets.name;
    this.kubeconfig = kubelets.kubeconfigPath;
    this.insideKubeconfig = kubelets.insideKubeconfigPath;
    this.#kubelets = kubelets;
    this.#tools = tools;
  }

  static async start(options: ClusterOptions): Promise<Cluster> {
    await sweepClusters();
    const [kube, helm] = await Promise.all([ensureKubeParts(), ensureGoTool('helm')]);
    await Promise.all([ensureClusterParts(), ensureGoTool('containerd')]);
    const name = clusterName(options.name);
    await mustLabCluster([
      ...['up', '--name', name],
      ...['--nodes', String(options.nodes ?? 3), '--containerd', options.containerd ?? 'both'],
      ...['--api-server', options.apiServer ?? 'real'],
      ...(options.images ?? []).flatMap((file) => ['--image', file]),
    ]);
    const program = await cadastreProgram();
    const world = {
      root: clustersFolder,
      cadastre: [process.execPath, program],
      env: process.env,
      say: () => {},
    };
    const tools = { kubectl: join(kube, 'kubectl'), helm: join(helm, 'helm') };
    return new Cluster(KubeletCluster.open(world, name), tools);
  }

  get nodes(): readonly string[] {
    return this.#kubelets.nodeNames;
  }

  /** What kubectl printed; refused with its words if it failed. */
  kubectl(args: readonly string[], stdin?: string): Promise<string> {
    return this.#tool(this.#tools.kubectl, args, stdin);
  }

  helm(args: readonly string[]): Promise<string> {
    return this.#tool(this.#tools.helm, args);
  }

  async apply(manifest: string): Promise<void> {
    await this.kubectl(['apply', '-f', '-'], manifest);
  }

  /** `kubectl get … -o json`. */
  async get<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.kubectl(['get', ...args, '-o', 'json'])) as T;
  }

  whenNodesReady(nodes = this.nodes): Promise<string> {
    const names = nodes.map((node) => `node/${node}`);
    return this.kubectl(['wait', '--for=condition=Ready', '--timeout=120s', ...names]);
  }

  /** A command on a node. */
  exec(node: string, command: readonly string[], stdin?: string): Promise<Answer> {
    return this.#kubelets.machine(node).run(command, stdin === undefined ? {} : { stdin });
  }

  /** A command in the namespace of the router or of the control plane. */
  execIn(machine: 'router' | 'control', command: readonly string[]): Promise<Answer> {
    return runInside(this.#kubelets.namespace(machine), command);
  }

  /** The same as a process that goes on. */
  startIn(machine: 'router' | 'control', name: string, command: readonly string[]): void {
    this.#kubelets.processes.start(name, this.#kubelets.namespace(machine), command);
  }

  /** One more machine behind the router, outside of the node network; gives the command line that enters it. */
  async addClient(): Promise<string[]> {
    const { folder } = this.#kubelets;
    const namespace = this.#kubelets.namespace('client');
    const networks = { ipv4: '192.0.2', ipv6: '2001:db8:2:' };
    // `down` removes what the manifest names.
    folder.change((one) => ({ ...one, namespaces: [...one.namespaces, namespace] }));
    await ipBatch(undefined, [`netns add ${namespace}`]);
    await ipBatch(this.#kubelets.namespace('router'), [
      `link add to-client type veth peer name eth0 netns ${namespace}`,
      `addr add ${networks.ipv4}.1/24 dev to-client`,
      `addr add ${networks.ipv6}:1/64 dev to-client nodad`,
      'link set to-client up',
    ]);
    await ipBatch(namespace, [
      'link set lo up',
      `addr add ${networks.ipv4}.2/24 dev eth0`,
      `addr add ${networks.ipv6}:2/64 dev eth0 nodad`,
      'link set eth0 up',
      `route add default via ${networks.ipv4}.1`,
      `route add default via ${networks.ipv6}:1`,
    ]);
    return ['nsenter', `--net=${namespacePath(namespace)}`];
  }

  /** Everything on the node ends at once; /run and its interfaces are lost, its disk is not. */
  cutPower(node: string): Promise<void> {
    return this.#kubelets.cutPower(node);
  }

  /** Containerd, kubelet and kube-proxy, as after a power cut. */
  boot(node: string): Promise<void> {
    return this.#kubelets.boot(node);
  }

  /** Ends a program of a node, which is then started again, as by systemd. */
  async restart(
    node: string,
    program: NodeProgram,
    signal: NodeJS.Signals = 'SIGTERM',
  ): Promise<void> {
    await this.#kubelets.machine(node).service(program).restart(signal);
    if (program === 'containerd') await this.#kubelets.whenContainerdServes(node);
  }

  /** Ends a program of a node until `startProgram`, or the next boot. */
  stopProgram(node: string, program: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    return this.#kubelets.machine(node).service(program).stop(signal);
  }

  startProgram(node: string, program: NodeProgram): void {
    this.#kubelets.startProgram(node, program);
  }

  /** A program of our own on a node, as a service that somebody installed there. */
  startService(node: string, name: string, command: readonly string[]): void {
    this.#kubelets.machine(node).startService(name, command);
  }

  /** The routes that the router uses, of both families. */
  async routerTable(): Promise<HeldRoute[]> {
    return tableOf(await this.#kubelets.routerPaths());
  }

  /** All paths that the router was told, also those that it does not use. */
  routerPaths(): Promise<HeldPath[]> {
    return this.#kubelets.routerPaths();
  }

  routerSessions() {
    return this.#kubelets.routerSessions();
  }

  /** The body of an HTTP answer to a request from the router; refused if there is none in time. */
  async httpFromRouter(url: string, seconds = 5): Promise<string> {
    const { code, stdout, stderr } = await this.execIn('router', [
      // Debian's busybox crashes when wget has a timeout of its own.
      ...['timeout', String(seconds), 'busybox', 'wget', '-q', '-O', '-', url],
    ]);
    if (code !== 0) throw new Error(`GET ${url} from the router: ${stderr.trim()}`);
    return stdout;
  }

  /** What vtysh prints for the router's table of a family: a dump for the doctor. */
  routerDump(family: 'ipv4' | 'ipv6'): Promise<string> {
    return this.#kubelets.routerDump(family);
  }

  /** How to run a command on a node, in the namespace of the router or in that of the control plane. */
  commandLine(machine: string, command: readonly string[]): string[] {
    return this.#kubelets.commandLine(machine, command);
  }

  /** The last lines that a process logged: `kube-apiserver`, `node1-kubelet`. */
  logOf(process: string, lines = 20): string {
    return this.#kubelets.processes.tail(process, lines);
  }

  /** Once is enough; a second time does nothing. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    await mustLabCluster(['down', this.name]);
    this.#isClosed = true;
  }

  async #tool(program: string, args: readonly string[], stdin?: string): Promise<string> {
    const env = { ...process.env, KUBECONFIG: this.kubeconfig };
    const child = run(program, [...args], { env, maxBuffer: 64 << 20 });
    child.child.stdin?.on('error', () => {});
    child.child.stdin?.end(stdin ?? '');
    return (await child).stdout;
  }
}

/** A name that no other test process uses. */
export function clusterName(word: string): string {
  return `t${process.pid}-${word}`;
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

export async function labCluster(args: readonly string[], root = clustersFolder): Promise<Outcome> {
  const program = await cadastreProgram();
  const env = { ...process.env, CADASTRE_CLUSTERS: root };
  try {
    const words = [program, 'lab', 'cluster', ...args];
    return { code: 0, ...(await run(process.execPath, words, { env, maxBuffer: 64 << 20 })) };
  } catch (error) {
    const { code, stdout, stderr } = error as Outcome & { code: unknown };
    if (typeof code !== 'number') throw error;
    return { code, stdout, stderr };
  }
}

export async function mustLabCluster(args: readonly string[]): Promise<Outcome> {
  const outcome = await labCluster(args);
  if (outcome.code === 0) return outcome;
  throw new Error(`lab cluster ${args.join(' ')}: exit ${outcome.code}\n${outcome.stderr}`);
}

/** Takes down what processes left that are gone. */
export async function sweepClusters(): Promise<void> {
  for (const entry of readdirSync(tmpdir())) {
    const pid = Number(entry.startsWith(prefix) ? entry.slice(prefix.length) : Number.NaN);
    if (Number.isNaN(pid) || existsSync(`/proc/${pid}`)) continue;
    const root = join(tmpdir(), entry);
    await labCluster(['down', '--all'], root);
    rmSync(root, { recursive: true, force: true });
  }
  mkdirSync(clustersFolder, { recursive: true, mode: 0o755 });
}

/** Everything on this machine that carries the cluster's name. */
export async function tracesOf(name: string): Promise<string[]> {
  const folder = join(clustersFolder, name);
  const word = `cadastre-${name}-`;
  const namespaces = list('/run/netns').filter((one) => one.startsWith(word));
  const cgroups = list('/sys/fs/cgroup').flatMap((hierarchy) =>
    list(join('/sys/fs/cgroup', hierarchy))
      .filter((one) => one.startsWith(word))
      .map((one) => `cgroup ${hierarchy}/${one}`),
  );
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(`${folder}/`));
  const processes = list('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    const text = readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
    // A process of a container has a command line of its own, but the node's cgroup.
    const isOurs = text.includes(`${folder}/`) || readText(`/proc/${pid}/cgroup`).includes(word);
    return isOurs ? [`process ${pid}: ${text}`] : [];
  });
  return [
    ...namespaces,
    ...cgroups,
    ...mounts,
    ...processes,
    ...(existsSync(folder) ? [folder] : []),
  ];
}

/** Until the question has an answer; for what a cluster does in its own time. */
export function whenTrue<T>(ask: () => Promise<T>): Promise<T> {
  return eventually(ask, { withinMs: 240_000 });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
