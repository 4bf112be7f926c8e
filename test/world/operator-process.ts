import { execFile } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type PartProcess, startPart } from '../parts/part-process.ts';
import { eventually } from './eventually.ts';

/** A line of the operator's JSON log. */
export interface LogLine {
  level: string;
  time: string;
  msg: string;
  [field: string]: unknown;
}

export interface OperatorProcessOptions {
  name: string;
  kubeconfigPath: string;
  /** The log lies here; removed if the test dies. */
  dir: string;
  flags?: string[];
  debug?: boolean;
}

let built: Promise<string> | undefined;

/** The command line as users get it; $CADASTRE_PROGRAM is one that is built already. */
export function cadastreProgram(): Promise<string> {
  built ??= (async () => {
    if (process.env.CADASTRE_PROGRAM) return process.env.CADASTRE_PROGRAM;
    // Quick when nothing is stale; npm test has done it already.
    await promisify(execFile)(process.execPath, [resolve('scripts/build.mjs')]);
    return resolve('dist/cadastre.mjs');
  })();
  return built;
}

/** Most stories write the reports of agents themselves. */
function believing(flags: string[]): string[] {
  const isChosen = flags.some((flag) => flag.startsWith('--believe-reports'));
  return isChosen ? flags : ['--believe-reports=all', ...flags];
}

/** One replica of the operator as a process of its own, to be watched, frozen and killed. */
export class OperatorProcess {
  readonly name: string;
  readonly lines: LogLine[] = [];
  /** What the process printed that is not its log. */
  readonly words: string[] = [];
  isFrozen = false;
  readonly #part: PartProcess;
  #readTo = 0;
  #rest = '';

  private constructor(name: string, part: PartProcess) {
    this.name = name;
    this.#part = part;
  }

  static async start(options: OperatorProcessOptions): Promise<OperatorProcess> {
    const program = await cadastreProgram();
    const part = startPart({
      name: options.name,
      binary: process.execPath,
      args: [
        '--enable-source-maps',
        program,
        'operator',
        `--kubeconfig=${options.kubeconfigPath}`,
        '--listen=127.0.0.1:0',
        `--identity=${options.name}`,
        ...(options.debug ? ['--log-level=debug'] : []),
        ...believing(options.flags ?? []),
      ],
      logFile: join(options.dir, `${options.name}.log`),
      dir: options.dir,
    });
    return new OperatorProcess(options.name, part);
  }

  get pid(): number {
    return this.#part.pid;
  }

  get isRunning(): boolean {
    return this.#part.ended === undefined;
  }

  /** `exit 0`, `SIGKILL`; undefined while it runs. */
  get ended(): string | undefined {
    return this.#part.ended;
  }

  /** What it has logged since the last look is added to `lines`. */
  readLog(): readonly LogLine[] {
    const file = openSync(this.#part.logFile, 'r');
    try {
      const piece = Buffer.alloc(1 << 20);
      for (;;) {
        const count = readSync(file, piece, 0, piece.length, this.#readTo);
        if (count === 0) break;
        this.#readTo += count;
        this.#rest += piece.toString('utf8', 0, count);
      }
    } finally {
      closeSync(file);
    }
    const texts = this.#rest.split('\n');
    this.#rest = texts.pop() ?? '';
    for (const text of texts) {
      if (text.startsWith('{')) this.lines.push(JSON.parse(text) as LogLine);
      else if (text.trim() !== '') this.words.push(text);
    }
    return this.lines;
  }

  logged(isIt: (line: LogLine) => boolean): LogLine[] {
    return this.readLog().filter(isIt);
  }

  /** The first line that fits, waiting for it. */
  whenLogged(isIt: (line: LogLine) => boolean, what: string, withinMs = 30_000): Promise<LogLine> {
    return eventually(
      () => {
        const found = this.readLog().find(isIt);
        if (found !== undefined) return found;
        const end = this.isRunning ? '' : ` (it ended: ${this.ended})`;
        throw new Error(`${this.name} did not say: ${what}${end}\n${this.tail()}`);
      },
      { withinMs, everyMs: 25 },
    );
  }

  whenLeading(withinMs?: number): Promise<LogLine> {
    const isIt = ({ msg }: LogLine) => msg === 'this replica leads and allocates';
    return this.whenLogged(isIt, 'this replica leads and allocates', withinMs);
  }

  whenSynced(withinMs?: number): Promise<LogLine> {
    const isIt = ({ msg }: LogLine) => msg === 'caches synced';
    return this.whenLogged(isIt, 'caches synced', withinMs);
  }

  async get(path: string): Promise<{ status: number; text: string }> {
    const { port } = await this.whenLogged(({ msg }) => msg === 'starting', 'starting');
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, text: await answer.text() };
  }

  /** The sum of a metric over all series that carry the given labels. */
  async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
    const { text } = await this.get('/metrics');
    const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
    let sum = 0;
    for (const line of text.split('\n')) {
      const match = /^(\w+)(\{.*\})? (\S+)$/.exec(line);
      if (match?.[1] !== name) continue;
      if (wanted.every((pair) => match[2]?.includes(pair))) sum += Number(match[3]);
    }
    return sum;
  }

  freeze(): void {
    this.isFrozen = true;
    process.kill(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    this.isFrozen = false;
    if (this.isRunning) process.kill(this.pid, 'SIGCONT');
  }

  kill9(): Promise<void> {
    return this.#part.kill9();
  }

  /** SIGTERM; what it ended with. */
  async stop(): Promise<string> {
    // A stopped process would take the signal only after it was woken.
    if (this.isFrozen) this.thaw();
    await this.#part.stop();
    return this.ended ?? '';
  }

  tail(lines = 20): string {
    return this.#part.tail(lines);
  }
}
