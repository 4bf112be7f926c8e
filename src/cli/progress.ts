import type { Terminal } from './terminal.ts';

/** Before this nobody wonders. */
const quietMs = 2_000;
/** Without a terminal: a line now and then, for a log. */
const lineEveryMs = 15_000;

/**
 * What a command is at, for whoever waits: on a terminal one line on stderr that is overwritten,
 * elsewhere a line now and then. Nothing in the first two seconds.
 */
export class Progress {
  readonly #raw: Terminal;
  readonly #startedMs: number;
  #stage = '';
  #timer: NodeJS.Timeout | undefined;
  #isShown = false;
  #lastLineMs: number;

  constructor(raw: Terminal) {
    this.#raw = raw;
    this.#startedMs = raw.clock.monotonicMs();
    this.#lastLineMs = this.#startedMs;
  }

  start(): void {
    this.#timer = setInterval(() => this.tick(), 500);
    this.#timer.unref();
  }

  /** `reading nodes`. */
  at(stage: string): void {
    this.#stage = stage;
    this.tick();
  }

  tick(): void {
    const nowMs = this.#raw.clock.monotonicMs();
    const waitedMs = nowMs - this.#startedMs;
    if (waitedMs < quietMs || this.#stage === '') return;
    const words = `${this.#stage}, ${Math.floor(waitedMs / 1000)} s`;
    if (this.#raw.overwrite !== undefined) {
      this.#isShown = true;
      this.#raw.overwrite(words);
    } else if (nowMs - this.#lastLineMs >= lineEveryMs) {
      this.#lastLineMs = nowMs;
      this.#raw.say(words);
    }
  }

  /** Something else is to be printed: the line goes away. */
  clear(): void {
    if (this.#isShown) this.#raw.overwrite?.('');
    this.#isShown = false;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stage = '';
    this.clear();
  }
}
