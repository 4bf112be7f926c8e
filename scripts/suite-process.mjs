/**
 * The processes of one suite. Beside another suite each line of its output begins with the
 * suite's name, so that both can be followed, and each picked out with grep.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutDir, say } from './checkout.mjs';

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
let interrupted = false;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => {
    interrupted = true;
    for (const child of running) child.kill(signal);
  });
}

/** Has somebody ended the run? Then nothing more is to be started. */
export const isInterrupted = () => interrupted;

export class SuiteProcess {
  #prefix;
  /** @type {number | undefined} */
  #cpuSeconds;

  /** @param {string | undefined} name undefined if the suite has the terminal for itself */
  constructor(name) {
    this.#prefix = name === undefined ? undefined : `${name.padEnd(9)} | `;
  }

  /** User and system time of what was run, with all descendants that their parents waited for. */
  get cpuSeconds() {
    return this.#cpuSeconds;
  }

  /** @param {string} line */
  say(line) {
    say(this.#prefix === undefined ? `\n${line}` : `${this.#prefix}${line}`);
  }

  /**
   * @param {string[]} command a program of node_modules/.bin and its arguments
   * @returns {Promise<string | number>} exit code or signal
   */
  async run([program = '', ...args]) {
    const isAlone = this.#prefix === undefined;
    const output = isAlone ? 'inherit' : 'pipe';
    const colour = !isAlone && process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
    const child = spawn(join(checkoutDir, 'node_modules/.bin', program), args, {
      cwd: checkoutDir,
      env: { ...process.env, ...colour },
      stdio: ['ignore', output, output],
    });
    running.add(child);
    const printed = [
      this.#print(child.stdout, process.stdout),
      this.#print(child.stderr, process.stderr),
    ];
    try {
      return await new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('exit', (code, signal) => {
          const seconds = takeChildrenSeconds();
          if (seconds !== undefined) this.#cpuSeconds = (this.#cpuSeconds ?? 0) + seconds;
          resolve(code ?? signal ?? 'no exit code');
        });
      });
    } finally {
      running.delete(child);
      // Not for ever: a process that a test left behind has the pipe open, too.
      await Promise.race([Promise.all(printed), sleep(1000, undefined, { ref: false })]);
    }
  }

  /**
   * @param {import('node:stream').Readable | null} from
   * @param {NodeJS.WritableStream} to
   */
  async #print(from, to) {
    if (from === null) return;
    for await (const line of createInterface({ input: from })) {
      if (line.trim() !== '') to.write(`${this.#prefix}${line}\n`);
    }
  }
}

let takenSeconds = 0;

/**
 * The CPU time of our children that have ended since the last call: when one has just ended,
 * its own. Undefined where there is no /proc.
 * @returns {number | undefined}
 */
export function takeChildrenSeconds() {
  const total = childrenSeconds();
  if (total === undefined) return undefined;
  const since = total - takenSeconds;
  takenSeconds = total;
  return since;
}

/** The kernel counts here in hundredths of a second on every platform. */
const ticksPerSecond = 100;

function childrenSeconds() {
  if (process.platform !== 'linux') return undefined;
  // proc_pid_stat(5): after the name in brackets comes field 3; cutime and cstime are 16 and 17.
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
}
