/** A container under a real containerd, until it ends or is ended. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually } from '../world/eventually.ts';
import type { Containerd } from './containerd.ts';
import { type RuntimeSpec, writeSpec } from './runtime-spec.ts';

let counter = 0;

export class ContainerProcess {
  readonly #containerd: Containerd;
  readonly #id: string;
  readonly #part: PartProcess;

  constructor(containerd: Containerd, name: string, spec: RuntimeSpec, dir: string) {
    this.#containerd = containerd;
    this.#id = `${name}-${process.pid}-${counter++}`;
    const file = join(dir, `${this.#id}.json`);
    writeSpec(spec, file);
    this.#part = startPart({
      name: this.#id,
      binary: 'ctr',
      args: ['-a', containerd.socket, 'run', '--rm', '--config', file, this.#id],
      logFile: join(dir, `${this.#id}.log`),
      dir,
    });
  }

  get log(): string {
    return this.#part.tail(10_000);
  }

  get ended(): string | undefined {
    return this.#part.ended;
  }

  /** What it ended with, as `exit 0`. */
  whenEnded(): Promise<string> {
    return eventually(
      () => {
        if (this.ended === undefined) throw new Error(`it still runs:\n${this.#part.tail(10)}`);
        return this.ended;
      },
      { withinMs: 30_000 },
    );
  }

  /** Of its first process, as the kernel tells it (proc_pid_status(5)): `CapEff`, `Seccomp` … */
  async kernelStatus(): Promise<Record<string, string>> {
    const tasks = await this.#containerd.ctr('tasks', 'ls');
    const line = tasks.split('\n').find((text) => text.startsWith(`${this.#id} `)) ?? '';
    const status = readFileSync(`/proc/${line.split(/\s+/)[1]}/status`, 'utf8');
    return Object.fromEntries(
      [...status.matchAll(/^(\w+):\t(\S*)/gm)].map(([, name = '', value = '']) => [name, value]),
    );
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<string> {
    if (this.ended === undefined) {
      // It may end by itself in between; whether it did is seen below.
      await this.#containerd.ctr('tasks', 'kill', '-s', signal, this.#id).catch(() => undefined);
    }
    return this.whenEnded();
  }
}
