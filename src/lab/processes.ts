/**
 * The named processes of a lab. A pid alone may be somebody else's by tomorrow;
 * with the moment of its start it cannot.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { CadastreError } from '../base/errors.ts';
import { sendSignal, startInside } from './namespaces.ts';

interface ProcessRecord {
  readonly pid: number;
  readonly startTicks: string;
  readonly namespace: string;
  readonly command: readonly string[];
}

/** Where logs and records lie. */
interface Files {
  file(...parts: string[]): string;
  makeFolder(...parts: string[]): string;
}

export class LabProcesses {
  readonly #folder: Files;

  constructor(folder: Files) {
    this.#folder = folder;
  }

  logFile(name: string): string {
    return `${this.#folder.makeFolder('logs')}/${name}.log`;
  }

  /** Returns as soon as the process exists, before it serves. */
  start(
    name: string,
    namespace: string,
    command: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ): void {
    const child = startInside(namespace, command, { logFile: this.logFile(name), env });
    if (child.pid === undefined) {
      throw new CadastreError('LAB_FAILED', `${name}: could not start nsenter`, {
        remedy: 'Install util-linux.',
      });
    }
    const startTicks = startTicksOf(child.pid) ?? '';
    const record: ProcessRecord = { pid: child.pid, startTicks, namespace, command };
    this.#folder.makeFolder('processes');
    writeFileSync(this.#file(name), JSON.stringify(record));
  }

  /** One that ran before, as it was started then. */
  startAgain(name: string): void {
    const record = this.#read(name);
    if (record === undefined) throw new CadastreError('LAB_FAILED', `${name} has never run`);
    if (!this.isRunning(name)) this.start(name, record.namespace, record.command);
  }

  /** Undefined once it has ended, or if it never ran. */
  pidOf(name: string): number | undefined {
    const record = this.#read(name);
    if (record === undefined) return undefined;
    return startTicksOf(record.pid) === record.startTicks ? record.pid : undefined;
  }

  hasRun(name: string): boolean {
    return this.#read(name) !== undefined;
  }

  isRunning(name: string): boolean {
    return this.pidOf(name) !== undefined;
  }

  signal(name: string, signal: NodeJS.Signals): boolean {
    const pid = this.pidOf(name);
    return pid !== undefined && sendSignal(pid, signal);
  }

  /** The signal, and back when the process is gone; after `withinMs` it is killed. */
  async end(name: string, signal: NodeJS.Signals, withinMs = 10_000): Promise<void> {
    const start = performance.now();
    this.signal(name, signal);
    while (this.isRunning(name)) {
      if (performance.now() - start > withinMs) this.signal(name, 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** The last lines it logged, for an error message. */
  tail(name: string, lines = 8): string {
    try {
      const text = readFileSync(this.logFile(name), 'utf8').trimEnd();
      return text.split('\n').slice(-lines).join('\n');
    } catch {
      return '(no log)';
    }
  }

  #read(name: string): ProcessRecord | undefined {
    try {
      return JSON.parse(readFileSync(this.#file(name), 'utf8')) as ProcessRecord;
    } catch {
      return undefined;
    }
  }

  #file(name: string): string {
    return this.#folder.file('processes', `${name}.json`);
  }
}

/** Field 22 of /proc/PID/stat; undefined for one that is gone or a zombie. */
function startTicksOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
