/**
 * Pings without end from one place to one address, twenty a second. What is
 * lost is told by sequence number: one that was sent and never answered. An
 * answer that comes late is an answer.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { namespacePath } from '../namespaces.ts';

export interface PingCount {
  readonly sent: number;
  readonly lost: number;
  /** The longest run of lost ones, as seconds. */
  readonly longestSeconds: number;
}

export const pingIntervalMs = 50;

export class PingStream {
  readonly address: string;
  readonly #child: ChildProcess;
  readonly #answered = new Set<number>();
  #highest = 0;
  #lastAnswerMs = 0;
  #words = '';
  #isClosed = false;

  constructor(namespace: string, address: string) {
    this.address = address;
    this.#child = spawn(
      'nsenter',
      [
        `--net=${namespacePath(namespace)}`,
        ...['ping', '-n', '-O', '-i', String(pingIntervalMs / 1000), address],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      createInterface({ input: stream }).on('line', (line) => this.read(line));
    }
    this.#child.on('error', () => {});
  }

  /** One line of `ping`; `no answer yet` is said when the next one is sent. */
  read(line: string): void {
    const seq = Number(/icmp_seq=(\d+)/.exec(line)?.[1]);
    if (Number.isNaN(seq)) {
      if (line.startsWith('ping:')) this.#words = line;
      return;
    }
    // The number on the wire has 16 bits; a story is shorter than an hour, but no matter.
    const full = seq + Math.max(0, Math.round((this.#highest - seq) / 65536)) * 65536;
    this.#highest = Math.max(this.#highest, full);
    if (/bytes from /.test(line)) {
      this.#answered.add(full);
      this.#lastAnswerMs = performance.now();
    } else if (line.startsWith('From ')) this.#words = line;
  }

  /** The number of the last one that is known to be sent. */
  get mark(): number {
    return this.#highest;
  }

  get lastWords(): string {
    return this.#words;
  }

  /** Answered a moment ago. */
  get isAnswering(): boolean {
    return this.#lastAnswerMs > 0 && performance.now() - this.#lastAnswerMs < 500;
  }

  /** It has been asked all the time and has said nothing for a while. */
  get isSilent(): boolean {
    return this.#lastAnswerMs > 0 && performance.now() - this.#lastAnswerMs > 2000;
  }

  /** Sent after `from`, up to and with `to`. */
  count(from: number, to: number): PingCount {
    let [lost, run, longest] = [0, 0, 0];
    for (let seq = from + 1; seq <= to; seq++) {
      if (this.#answered.has(seq)) run = 0;
      else {
        lost++;
        run++;
        longest = Math.max(longest, run);
      }
    }
    return {
      sent: Math.max(to - from, 0),
      lost,
      longestSeconds: (longest * pingIntervalMs) / 1000,
    };
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
