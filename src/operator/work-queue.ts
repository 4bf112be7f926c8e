import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { KeyedQueue } from '../kube/keyed-queue.ts';
import type { Terms } from './terms.ts';

/** Brings what a key names in line, from what is known at that moment. */
export interface Worker {
  /** `othersWait`: whether other keys wait for their turn. */
  reconcile(key: string, othersWait: () => boolean): Promise<Outcome>;
}

/** Undefined when there is nothing left to do. */
export type Outcome = { retryAfterMs?: number } | undefined;

interface WorkQueueOptions {
  name: string;
  concurrency: number;
  worker: Worker;
  terms: Terms;
  log: Log;
  metrics: Metrics;
}

/** A queue of keys with its worker. Only a leader works; a key that comes before is dropped. */
export class WorkQueue {
  readonly #worker: Worker;
  readonly #terms: Terms;
  readonly #queue: KeyedQueue;

  constructor({ name, concurrency, worker, terms, log, metrics }: WorkQueueOptions) {
    this.#worker = worker;
    this.#terms = terms;
    this.#queue = new KeyedQueue({
      name,
      concurrency,
      log,
      metrics,
      work: (key) => this.#terms.whileLeading(() => this.#work(key)),
      backoff: { baseMs: 50, capMs: 30_000 },
    });
  }

  /** Keys wait for their turn. */
  get isWaiting(): boolean {
    return this.#queue.depth > 0;
  }

  /** Keys wait for their turn or are worked on. */
  get isBusy(): boolean {
    return this.#queue.depth + this.#queue.running > 0;
  }

  add(key: string): void {
    this.#queue.add(key);
  }

  addAfter(key: string, ms: number): void {
    this.#queue.addAfter(key, ms);
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #work(key: string): Promise<void> {
    const outcome = await this.#worker.reconcile(key, () => this.isWaiting);
    if (outcome?.retryAfterMs !== undefined) this.#queue.addAfter(key, outcome.retryAfterMs);
  }
}

/** The queues of the objects that blocks are about. */
export interface OperatorQueues {
  nodes: WorkQueue;
  blocks: WorkQueue;
  pools: WorkQueue;
}
