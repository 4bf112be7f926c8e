/**
 * Whoever appends waits until its record is on disk, and all who wait share one
 * sync. While one is under way, the next batch gathers.
 *
 *   append ─▶ queue ─▶ batch ─▶ commit ─▶ every waiter resolves
 *   note   ─▶ queue, and with the next batch
 *
 * When a batch cannot be committed, everything in it *and behind it* is undone,
 * last first, and refused: what was decided later may rest on what was refused.
 */
/** A batch is one write; it has a bound, so that nobody waits for megabytes of others. */
export const maxBatchBytes = 256 * 1024;

/** How long a note waits for company. */
const noteWithinMs = 200;

interface Waiter {
  /** Undefined for one who only waits for what is before it. */
  record: string | undefined;
  undo: (() => void) | undefined;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export interface Batch {
  readonly records: readonly string[];
  /** How many wait behind it at this moment. */
  readonly waiting: number;
  /** The first of those that wait are on disk, too. */
  include(count: number): void;
}

interface GroupCommitOptions {
  commit: (batch: Batch) => Promise<void>;
  /** What those hear whose records are refused. */
  refusal: (cause: unknown, count: number) => Error;
}

export class GroupCommit {
  readonly #o: GroupCommitOptions;
  readonly #queue: Waiter[] = [];
  #running: Promise<void> | undefined;
  #noteTimer: NodeJS.Timeout | undefined;

  constructor(options: GroupCommitOptions) {
    this.#o = options;
  }

  /** Resolves when the record, and all before it, are on disk. Rejects after `undo` was called. */
  append(record: string | undefined, undo?: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, undo, resolve, reject });
      this.#start();
    });
  }

  /**
   * For what nobody waits for, and what can be found out again if a crash loses
   * it: goes to disk with the next record, or after a moment. In order with all
   * others, and undone like them.
   */
  note(record: string, undo: () => void): void {
    const ignore = () => undefined;
    this.#queue.push({ record, undo, resolve: ignore, reject: ignore });
    if (this.#running !== undefined) return;
    this.#noteTimer ??= setTimeout(() => this.#start(), noteWithinMs).unref();
  }

  /** Until nobody waits. */
  async settled(): Promise<void> {
    if (this.#queue.length > 0) this.#start();
    await this.#running;
  }

  #start(): void {
    clearTimeout(this.#noteTimer);
    this.#noteTimer = undefined;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // One turn of the event loop: requests that arrived together are written together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) {
      const waiters = this.#takeBatch();
      const queue = this.#queue;
      try {
        await this.#o.commit({
          records: waiters.flatMap(({ record }) => record ?? []),
          get waiting() {
            return queue.length;
          },
          include: (count) => waiters.push(...queue.splice(0, count)),
        });
        for (const waiter of waiters) waiter.resolve();
      } catch (cause) {
        const refused = [...waiters, ...queue.splice(0)];
        for (const waiter of refused.toReversed()) waiter.undo?.();
        const error = this.#o.refusal(cause, refused.length);
        for (const waiter of refused) waiter.reject(error);
      }
    }
    this.#running = undefined;
  }

  #takeBatch(): Waiter[] {
    let bytes = 0;
    let count = 0;
    for (const { record } of this.#queue) {
      bytes += record === undefined ? 0 : 8 + 3 * record.length;
      if (count > 0 && bytes > maxBatchBytes) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }
}
