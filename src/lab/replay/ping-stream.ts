/** Pings without end from one place to one address, twenty a second. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { namespacePath } from '../namespaces.ts';
import { type PingCount, PingTally, pingIntervalMs } from './ping-tally.ts';

/** Without an answer for longer than this it does not answer now; a busy machine is slow by less. */
const freshMs = 500;
/** Without an answer for so long it has fallen silent. */
const silentMs = 2000;

export class PingStream {
  readonly address: string;
  readonly #child: ChildProcess;
  readonly #tally = new PingTally();
  #isClosed = false;

  constructor(namespace: string, address: string) {
    this.address = address;
    this.#child = spawn(
      'nsenter',
      [
        `--net=${namespacePath(namespace)}`,
        ...['ping', '-n', '-O', '-i', String(pingIntervalMs / 1000), address],
      ],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    createInterface({ input: this.#child.stdout! }).on('line', (line) =>
      this.#tally.read(line, performance.now()),
    );
    this.#child.on('error', () => {});
  }

  get mark(): number {
    return this.#tally.mark;
  }

  get isAnswering(): boolean {
    return (this.#tally.silentMs(performance.now()) ?? silentMs) < freshMs;
  }

  /** By itself: ping does so at once where there is no route. */
  get hasEnded(): boolean {
    return !this.#isClosed && this.#child.exitCode !== null;
  }

  /** It did answer once, and has not for a while. */
  get isSilent(): boolean {
    return (this.#tally.silentMs(performance.now()) ?? 0) > silentMs;
  }

  count(from: number, to: number): PingCount {
    return this.#tally.count(from, to);
  }

  /** So many are sent after `from`, or it has ended. */
  async whenSent(from: number, atLeast: number): Promise<void> {
    const deadline = performance.now() + 10_000;
    while (this.mark - from < atLeast && !this.#isClosed && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Nobody waits for an answer to a ping up to `to`, or has waited long enough. */
  async settled(from: number, to: number, withinMs = 1500): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (this.count(from, to).lost > 0 && performance.now() < deadline && !this.#isClosed) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#child.kill('SIGKILL');
  }
}
