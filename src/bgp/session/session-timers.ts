import { timerMs } from '../../base/timer-ms.ts';

/** Named timers of one session; starting one that runs starts it over. */
export class TimerSet<Name extends string> {
  readonly #timers = new Map<Name, { handle: NodeJS.Timeout; ms: number; starts: number }>();
  readonly #fire: (name: Name) => void;

  constructor(fire: (name: Name) => void) {
    this.#fire = fire;
  }

  start(name: Name, ms: number): void {
    const running = this.#timers.get(name);
    if (running !== undefined && running.ms === ms) {
      // The hold timer restarts with every message: refresh costs a tenth of a new timer.
      running.starts++;
      running.handle.refresh();
      return;
    }
    if (running !== undefined) clearTimeout(running.handle);
    const timer = { handle: setTimeout(() => this.#expire(name), timerMs(ms)), ms, starts: 0 };
    this.#timers.set(name, timer);
  }

  stop(name: Name): void {
    const timer = this.#timers.get(name);
    if (timer === undefined) return;
    clearTimeout(timer.handle);
    this.#timers.delete(name);
  }

  stopAll(): void {
    for (const { handle } of this.#timers.values()) clearTimeout(handle);
    this.#timers.clear();
  }

  /**
   * A process that was frozen finds its timers expired before it has read what
   * waits in its sockets. One turn of reading first, and the peer that spoke all
   * the time is not accused of silence.
   */
  #expire(name: Name): void {
    const timer = this.#timers.get(name);
    if (timer === undefined) return;
    const { starts } = timer;
    setImmediate(() => {
      if (this.#timers.get(name) !== timer || timer.starts !== starts) return;
      this.#timers.delete(name);
      this.#fire(name);
    });
  }
}
