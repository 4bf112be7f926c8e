/**
 * One node: a network namespace, and a mount namespace in which Cilium finds its folders,
 * a bpffs and a cgroup2 of its own where it looks for them. A process that only waits keeps
 * both; agent and CNI plugin are started inside.
 */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import {
  deleteNamespaces,
  endProcesses,
  ipBatch,
  namespacePath,
} from '../../src/lab/namespaces.ts';
import { type PartProcess, startPart, untilReady } from '../parts/part-process.ts';
import { eventually, pause } from '../world/eventually.ts';
import { cadastreProgram } from '../world/operator-process.ts';
import { writeConfigFiles } from './config.ts';
import type { Fabric } from './fabric.ts';
import { namespaceOf, nodeAddress, nodeAddress6 } from './layout.ts';

/** Debian's clang-19, and the iptables that needs no nftables of the kernel. */
const tools = '/usr/lib/llvm-19/bin';

export interface MachineOptions {
  readonly name: string;
  /** Folder of Cilium's programs. */
  readonly cilium: string;
  readonly dir: string;
  /** As seen from the node. */
  readonly kubeconfig: string;
}

export class Machine {
  readonly name: string;
  readonly address: string;
  readonly address6: string;
  readonly namespace: string;
  readonly #options: MachineOptions;
  readonly #folder: string;
  #holder: PartProcess | undefined;
  #agent: PartProcess | undefined;
  #ours: PartProcess | undefined;
  #ourFlags: readonly string[] = [];
  #supervisor: NodeJS.Timeout | undefined;
  #restarting: Promise<void> = Promise.resolve();
  /** How often the agent ended without being asked to. */
  agentDeaths = 0;

  constructor(options: MachineOptions) {
    this.name = options.name;
    this.address = nodeAddress(options.name);
    this.address6 = nodeAddress6(options.name);
    this.namespace = namespaceOf(options.name);
    this.#options = options;
    this.#folder = join(options.dir, options.name);
  }

  async up(fabric: Fabric): Promise<void> {
    for (const name of ['run', 'lib', 'config', 'bin', 'cni', 'our-run', 'our-lib']) {
      mkdirSync(join(this.#folder, name), { recursive: true });
    }
    await ipBatch(undefined, [`netns add ${this.namespace}`]);
    await fabric.connect(this.name, this.namespace);
    this.#holder = startPart({
      name: `${this.name}-holder`,
      binary: 'nsenter',
      args: [
        `--net=${namespacePath(this.namespace)}`,
        ...['unshare', '--mount', '--propagation', 'slave', 'sh', '-ec', mountScript],
        ...['sh', this.#folder, this.#options.cilium],
      ],
      logFile: join(this.#folder, 'holder.log'),
      dir: this.#folder,
    });
    await untilReady(this.#holder, async () => this.#holder?.tail(1) === 'ready', 10_000);
  }

  /** The command that starts something inside. */
  enter(command: readonly string[]): string[] {
    return ['-t', String(this.#holder?.pid), '--mount', '--net', ...command];
  }

  /** A program inside; what it says on stdout. A failure is an error with its words. */
  run(command: readonly string[], stdin = '', env: NodeJS.ProcessEnv = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = execFile(
        'nsenter',
        this.enter(command),
        { env: { ...process.env, ...env }, timeout: 60_000, maxBuffer: 64 << 20 },
        (error, stdout, stderr) => {
          if (error) reject(new Error(`${this.name}: ${command.join(' ')}: ${stdout}${stderr}`));
          else resolve(stdout);
        },
      );
      child.stdin?.end(stdin);
    });
  }

  /**
   * `config`: the data of cilium-config, of which the kubelet would make these files. One that
   * ends by itself is started again, as a kubelet does: the agent of 1.17 ends when the
   * CiliumNode goes in the moment in which it updates it.
   */
  async startAgent(config: Readonly<Record<string, string>>): Promise<void> {
    clearInterval(this.#supervisor);
    this.#launch(config);
    this.#supervisor = setInterval(() => {
      if (this.#agent?.ended === undefined) return;
      this.agentDeaths += 1;
      this.#launch(config);
    }, 1000);
  }

  #launch(config: Readonly<Record<string, string>>): void {
    writeConfigFiles(join(this.#folder, 'config'), config);
    this.#agent = startPart({
      name: `cilium-agent of ${this.name}`,
      binary: 'nsenter',
      args: this.enter([
        join(this.#options.cilium, 'cilium-agent'),
        '--config-dir=/etc/cilium-config',
        `--k8s-kubeconfig-path=${this.#options.kubeconfig}`,
      ]),
      env: {
        K8S_NODE_NAME: this.name,
        CILIUM_K8S_NAMESPACE: 'kube-system',
        PATH: `${join(this.#folder, 'bin')}:${tools}:${process.env.PATH}`,
      },
      logFile: join(this.#folder, 'agent.log'),
      dir: this.#folder,
    });
  }

  /** Our own agent, beside Cilium's. */
  async startOurAgent(flags: readonly string[]): Promise<void> {
    this.#ourFlags = flags;
    const program = await cadastreProgram();
    this.#ours = startPart({
      name: `agent of ${this.name}`,
      binary: 'nsenter',
      args: this.enter([
        ...[process.execPath, program, 'agent', `--node-name=${this.name}`],
        ...[`--kubeconfig=${this.#options.kubeconfig}`, '--listen=127.0.0.1:0', ...flags],
      ]),
      logFile: join(this.#options.dir, `agent-${this.name}.log`),
      dir: this.#folder,
    });
  }

  async restartOurAgent(): Promise<void> {
    await this.#ours?.stop();
    await this.startOurAgent(this.#ourFlags);
  }

  /** The folder of CNI plugins besides Cilium's own. */
  get plugins(): string {
    return join(this.#folder, 'cni');
  }

  async whenAgentServes(withinMs = 60_000): Promise<void> {
    if (this.#agent === undefined) throw new Error(`${this.name}: the agent was never started`);
    await untilReady(this.#agent, () => this.#isHealthy(), withinMs);
  }

  /** One after the other, whoever asks: a kubelet starts an agent again while a scenario does. */
  restartAgent(config: Readonly<Record<string, string>>): Promise<void> {
    const restart = async () => {
      await this.stopAgent();
      await this.startAgent(config);
      await this.whenAgentServes();
    };
    this.#restarting = this.#restarting.then(restart, restart);
    return this.#restarting;
  }

  /** As a kubelet does it: Cilium's DaemonSet gives its pods one second. */
  async stopAgent(): Promise<void> {
    clearInterval(this.#supervisor);
    const agent = this.#agent;
    if (agent === undefined) return;
    await Promise.race([agent.stop(), pause(1000)]);
    await agent.kill9();
  }

  /** As a crash: it is started again. */
  async killAgent(): Promise<void> {
    await this.#agent?.kill9();
  }

  get agentTail(): string {
    return this.#agent?.tail(40) ?? '';
  }

  /** As a power cut: what it announced is to be withdrawn by nobody. */
  async down(): Promise<void> {
    clearInterval(this.#supervisor);
    await this.#agent?.kill9();
    await this.#ours?.kill9();
    await this.#holder?.kill9();
    await endProcesses([this.namespace]);
    await eventually(() => deleteNamespaces([this.namespace]));
  }

  #isHealthy(): Promise<boolean> {
    const socketPath = join(this.#folder, 'run/cilium.sock');
    return new Promise((resolve, reject) => {
      const asked = request(
        { socketPath, path: '/v1/healthz?brief=true', timeout: 2000 },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode === 200);
        },
      );
      asked.on('timeout', () => asked.destroy(new Error('no answer')));
      asked.on('error', reject).end();
    });
  }
}

/** `$1`: the node's folder, `$2`: Cilium's. */
const mountScript = `
mkdir -p /var/run/cilium /var/lib/cilium /etc/cilium-config /run/cadastre /var/lib/cadastre
mount --bind "$1/our-run" /run/cadastre
mount --bind "$1/our-lib" /var/lib/cadastre
mount --bind "$1/run" /var/run/cilium
mount --bind "$1/lib" /var/lib/cilium
mount --bind "$1/config" /etc/cilium-config
mkdir -p /var/lib/cilium/bpf /var/run/cilium/cgroupv2 /var/run/cilium/state
mount --bind "$2/bpf" /var/lib/cilium/bpf
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 none /var/run/cilium/cgroupv2
for one in iptables ip6tables iptables-save ip6tables-save iptables-restore ip6tables-restore; do
  ln -sf "$(command -v "$(echo "$one" | sed 's/tables/tables-legacy/')")" "$1/bin/$one"
done
echo ready
exec sleep infinity
`;
