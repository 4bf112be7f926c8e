import { type Clock, systemClock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import { type Log, silentLog } from '../base/log.ts';
import { type Counter, type Gauge, type Histogram, Metrics } from '../base/metrics.ts';
import { timerMs } from '../base/timer-ms.ts';
import { ApiError } from './api-error.ts';
import { Backoff } from './backoff.ts';

/**
 * A work queue like client-go's: keys, not tasks. A key that waits already is
 * not added twice; a key added while it runs runs once more afterwards; the
 * same key never runs twice at a time. First in, first out. A key whose work
 * throws comes back after its own back-off, for ever; success forgets it.
 *
 * Work may be synchronous (most reconciles find nothing to do): then it costs
 * no promise and no turn of the event loop, and a long row of it still lets
 * the event loop run every few milliseconds.
 */
export interface KeyedQueueOptions {
  /** For metrics and the log. */
  name: string;
  work: (key: string) => void | Promise<void>;
  /** Keys whose work is under way at once. */
  concurrency?: number | undefined;
  backoff?: { baseMs: number; capMs: number } | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  log?: Log | undefined;
  metrics?: Metrics | undefined;
}

/** Synchronous work goes on this long before others get the event loop. */
const sliceMs = 5;

interface KeyState {
  /** In `#ready`; since when, for the age. */
  queuedMs: number | undefined;
  isRunning: boolean;
  /** Added while it ran. */
  isDirty: boolean;
  later: { timer: NodeJS.Timeout; dueMs: number } | undefined;
  backoff: Backoff | undefined;
  /** In a row. */
  failures: number;
}

export class KeyedQueue {
  readonly #options: KeyedQueueOptions;
  readonly #concurrency: number;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #depth: Gauge;
  readonly #age: Histogram;
  readonly #failures: Counter;
  readonly #states = new Map<string, KeyState>();
  #ready: string[] = [];
  #head = 0;
  #running = 0;
  #isScheduled = false;
  #isStopped = false;
  #idleWaiters: (() => void)[] = [];

  constructor(options: KeyedQueueOptions) {
    this.#options = options;
    this.#concurrency = options.concurrency ?? 1;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    const metrics = options.metrics ?? new Metrics();
    this.#depth = metrics.gauge('cadastre_queue_depth', 'Keys that wait to be worked on.');
    this.#age = metrics.histogram(
      'cadastre_queue_age_seconds',
      'How long a key waited before its work began.',
      [0.001, 0.01, 0.1, 1, 10, 60],
    );
    this.#failures = metrics.counter('cadastre_queue_failures_total', 'Work that threw.');
    this.#failures.inc({ queue: options.name }, 0);
  }

  /** Keys that wait; not those that run or come later. */
  get depth(): number {
    return this.#ready.length - this.#head;
  }

  /** Keys that are remembered for any reason. */
  get known(): number {
    return this.#states.size;
  }

  get running(): number {
    return this.#running;
  }

  add(key: string): void {
    if (this.#isStopped) return;
    const state = this.#stateOf(key);
    if (state.isRunning) state.isDirty = true;
    else this.#enqueue(key, state);
  }

  /** Not before the time is over; of several times for one key the first counts. */
  addAfter(key: string, ms: number): void {
    if (this.#isStopped) return;
    if (ms <= 0) {
      this.add(key);
      return;
    }
    const state = this.#stateOf(key);
    const dueMs = this.#clock.monotonicMs() + ms;
    if (state.later !== undefined) {
      if (state.later.dueMs <= dueMs) return;
      clearTimeout(state.later.timer);
    }
    const timer = setTimeout(() => {
      state.later = undefined;
      this.add(key);
    }, timerMs(ms));
    state.later = { timer, dueMs };
  }

  /** Resolves when nothing waits and nothing runs; keys for later do not count. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Drops what waits, and resolves when what runs is done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const state of this.#states.values()) {
      clearTimeout(state.later?.timer);
      state.later = undefined;
      state.isDirty = false;
    }
    this.#ready = [];
    this.#head = 0;
    this.#depth.set(0, { queue: this.#options.name });
    await this.idle();
  }

  #stateOf(key: string): KeyState {
    let state = this.#states.get(key);
    if (state === undefined) {
      state = {
        queuedMs: undefined,
        isRunning: false,
        isDirty: false,
        later: undefined,
        backoff: undefined,
        failures: 0,
      };
      this.#states.set(key, state);
    }
    return state;
  }

  #enqueue(key: string, state: KeyState): void {
    if (state.queuedMs !== undefined) return;
    state.queuedMs = this.#clock.monotonicMs();
    this.#ready.push(key);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // An immediate, not a microtask: what is added in one go is coalesced first.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#runSlice();
    });
  }

  #runSlice(): void {
    const untilMs = performance.now() + sliceMs;
    while (this.depth > 0 && this.#running < this.#concurrency) {
      const key = this.#ready[this.#head]!;
      this.#head += 1;
      if (this.#head >= 1_024 && this.#head * 2 >= this.#ready.length) {
        this.#ready = this.#ready.slice(this.#head);
        this.#head = 0;
      }
      this.#start(key);
      if (performance.now() >= untilMs) break;
    }
    this.#depth.set(this.depth, { queue: this.#options.name });
    if (this.depth > 0 && this.#running < this.#concurrency) this.#schedule();
    this.#wakeIdle();
  }

  #start(key: string): void {
    const state = this.#stateOf(key);
    const waitedMs = this.#clock.monotonicMs() - (state.queuedMs ?? 0);
    this.#age.observe(waitedMs / 1_000, { queue: this.#options.name });
    state.queuedMs = undefined;
    state.isRunning = true;
    this.#running += 1;
    let work: ReturnType<KeyedQueueOptions['work']>;
    try {
      work = this.#options.work(key);
    } catch (error) {
      this.#finish(key, state, { error });
      return;
    }
    if (work instanceof Promise) {
      work.then(
        () => this.#finishLater(key, state, undefined),
        (error) => this.#finishLater(key, state, { error }),
      );
    } else {
      this.#finish(key, state, undefined);
    }
  }

  #finishLater(key: string, state: KeyState, failure: { error: unknown } | undefined): void {
    this.#finish(key, state, failure);
    if (this.depth > 0) this.#runSlice();
    else this.#wakeIdle();
  }

  #finish(key: string, state: KeyState, failure: { error: unknown } | undefined): void {
    this.#running -= 1;
    state.isRunning = false;
    if (failure !== undefined) this.#failed(key, state, failure.error);
    else {
      state.backoff = undefined;
      state.failures = 0;
    }
    if (state.isDirty) {
      state.isDirty = false;
      this.#enqueue(key, state);
    } else if (
      state.queuedMs === undefined &&
      state.later === undefined &&
      state.backoff === undefined
    ) {
      this.#states.delete(key);
    }
  }

  #failed(key: string, state: KeyState, error: unknown): void {
    const { name, backoff, random = Math.random } = this.#options;
    state.backoff ??= new Backoff({ ...(backoff ?? { baseMs: 50, capMs: 30_000 }), random });
    const retryAfterMs = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    const delayMs = Math.max(state.backoff.nextMs(), retryAfterMs);
    this.#failures.inc({ queue: name });
    state.failures += 1;
    const { failures } = state;
    const fields = { queue: name, object: key, count: failures, retryInMs: Math.round(delayMs) };
    // The first, second, fourth, eighth time: a server that is away for an hour
    // must not fill the disk with the same line for each of 5,000 nodes.
    const isLogged = (failures & (failures - 1)) === 0;
    this.#log[isLogged ? 'warn' : 'debug']?.(
      { ...fields, error: describeError(error) },
      'reconcile failed; retrying',
    );
    this.addAfter(key, delayMs);
  }

  #isIdle(): boolean {
    return this.depth === 0 && this.#running === 0;
  }

  #wakeIdle(): void {
    if (!this.#isIdle()) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
