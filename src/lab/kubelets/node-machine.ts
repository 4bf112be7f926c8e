/**
 * A node as a machine: namespaces of its own (network, mount, pid, uts, ipc,
 * cgroup) and a cgroup of its own in each hierarchy. Killing its first process is
 * a power cut: the kernel kills everything in the same pid namespace.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createReadStream, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { eventually } from '../eventually.ts';
import { sendSignal } from '../namespaces.ts';
import type { LabProcesses } from '../processes.ts';
import { cgroupPaths, type Hierarchy, makeCgroups, removeCgroups } from './cgroups.ts';
import { childOf } from './child-of.ts';
import { keptRunning, NodeService } from './node-service.ts';
import { nodeScript, readyFile } from './node-start.ts';

export interface MachinePlace {
  readonly name: string;
  /** Its network namespace; its cgroups have the same name. */
  readonly namespace: string;
  readonly folder: string;
  readonly hierarchies: readonly Hierarchy[];
}

export interface Answer {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export class NodeMachine {
  readonly #place: MachinePlace;
  readonly #processes: LabProcesses;

  constructor(place: MachinePlace, processes: LabProcesses) {
    this.#place = place;
    this.#processes = processes;
  }

  /** Its network namespace is there and connected. */
  async start(): Promise<void> {
    const { name, namespace, folder } = this.#place;
    makeCgroups(this.#cgroups);
    const script = join(folder, 'start.sh');
    const ready = join(folder, readyFile);
    rmSync(ready, { force: true });
    writeFileSync(script, nodeScript({ ...this.#place, bootId: randomUUID() }));
    this.#processes.start(
      name,
      namespace,
      this.#inCgroups([
        ...['unshare', '--mount', '--uts', '--ipc', '--pid', '--cgroup'],
        ...['--fork', '--kill-child', 'sh', script],
      ]),
    );
    await eventually(
      `${name} has its mounts`,
      () => {
        if (!this.#processes.isRunning(name)) {
          throw new CadastreError('LAB_FAILED', `${name} ended: ${this.#processes.tail(name)}`);
        }
        return readText(ready) === '' ? undefined : true;
      },
      { everyMs: 20, withinMs: 30_000 },
    );
  }

  /** Everything of it ends at once, untold. Its network namespace stays, for whoever removes it. */
  async cutPower(): Promise<void> {
    const { name } = this.#place;
    const first = this.#firstProcess();
    if (first !== undefined) sendSignal(first, 'SIGKILL');
    await this.#processes.end(name, 'SIGKILL');
    await removeCgroups(this.#cgroups);
  }

  get isRunning(): boolean {
    return this.#firstProcess() !== undefined;
  }

  /** A program of the node that goes on after us, and is started again when it ends. */
  startService(program: string, command: readonly string[], env: NodeJS.ProcessEnv = {}): void {
    const { namespace } = this.#place;
    const words = this.commandLine(keptRunning(command));
    this.#processes.start(this.service(program).name, namespace, words, env);
  }

  service(program: string): NodeService {
    return new NodeService(`${this.#place.name}-${program}`, this.#processes);
  }

  /** A command on the node, and what it said. */
  run(
    command: readonly string[],
    options: { stdinFile?: string; stdin?: string; timeoutMs?: number } = {},
  ): Promise<Answer> {
    const [program = '', ...args] = this.commandLine(command);
    return new Promise((resolve, reject) => {
      const child = execFile(
        program,
        args,
        { maxBuffer: 64 << 20, timeout: options.timeoutMs ?? 120_000 },
        (error, stdout, stderr) => {
          if (error !== null && typeof error.code !== 'number') reject(error);
          else resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) });
        },
      );
      child.stdin?.on('error', () => {});
      if (options.stdinFile !== undefined) {
        createReadStream(options.stdinFile).pipe(child.stdin!);
      } else child.stdin?.end(options.stdin ?? '');
    });
  }

  get #cgroups(): string[] {
    return cgroupPaths(this.#place.hierarchies, this.#place.namespace);
  }

  /** The pid of its first process, as we see it. */
  #firstProcess(): number | undefined {
    const pid = this.#processes.pidOf(this.#place.name);
    return pid === undefined ? undefined : childOf(pid);
  }

  /** How to run a command in all namespaces and cgroups of the node. */
  commandLine(command: readonly string[]): string[] {
    const first = this.#firstProcess();
    if (first === undefined) {
      throw new CadastreError('LAB_FAILED', `${this.#place.name} is not running`);
    }
    const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup'];
    return this.#inCgroups(['nsenter', `--target=${first}`, ...namespaces, ...command]);
  }

  #inCgroups(command: readonly string[]): string[] {
    const files = this.#cgroups.map((path) => `${path}/cgroup.procs`);
    const join = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ > "$1"; shift; n=$((n-1)); done';
    return [
      'sh',
      '-e',
      '-c',
      `${join}; exec "$@"`,
      'sh',
      String(files.length),
      ...files,
      ...command,
    ];
  }
}

/** Empty if it is not there. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
