/**
 * A program of a node that is started again whenever it ends, as systemd would
 * (`Restart=always`): a kubelet that starts while containerd is away gives up.
 *
 *   nsenter (the process that the lab knows) → a shell that starts it again → the program
 */
import { readFileSync } from 'node:fs';
import { eventually } from '../eventually.ts';
import { sendSignal } from '../namespaces.ts';
import type { LabProcesses } from '../processes.ts';
import { childOf } from './child-of.ts';

const againAndAgain =
  'while :; do "$@"; echo "ended with exit code $?; it is started again in a second"; sleep 1; done';

/** Program and arguments that keep a program running. */
export function keptRunning(command: readonly string[]): string[] {
  return ['sh', '-c', againAndAgain, 'sh', ...command];
}

export class NodeService {
  /** Of the process, and of its log. */
  readonly name: string;
  readonly #processes: LabProcesses;

  constructor(name: string, processes: LabProcesses) {
    this.name = name;
    this.#processes = processes;
  }

  /** Undefined between two starts, too. */
  get pid(): number | undefined {
    const shell = this.#shell;
    const child = shell === undefined ? undefined : childOf(shell);
    // The pause of the shell.
    return child === undefined || commandOf(child) === 'sleep' ? undefined : child;
  }

  get isRunning(): boolean {
    return this.pid !== undefined;
  }

  /** Ends the program, which is then started again; back when it has been. */
  async restart(signal: NodeJS.Signals): Promise<void> {
    const before = this.pid;
    if (before !== undefined) sendSignal(before, signal);
    await eventually(`${this.name} has been started again`, () => {
      const now = this.pid;
      return now !== undefined && now !== before ? true : undefined;
    });
  }

  /** Ends the program for good. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const pid = this.pid;
    const shell = this.#shell;
    if (shell !== undefined) sendSignal(shell, 'SIGKILL');
    if (pid !== undefined) sendSignal(pid, signal);
    await eventually(`${this.name} has ended`, () => {
      const isGone = pid === undefined || !sendSignal(pid, 0);
      return (isGone && !this.#processes.isRunning(this.name)) || undefined;
    });
  }

  get #shell(): number | undefined {
    const outer = this.#processes.pidOf(this.name);
    return outer === undefined ? undefined : childOf(outer);
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
