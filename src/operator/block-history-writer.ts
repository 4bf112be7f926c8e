import { describeError } from '../base/errors.ts';
import type { Counter } from '../base/metrics.ts';
import { ApiError } from '../kube/api-error.ts';
import { pause } from '../kube/backoff.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import { readHistory, writeHistory } from '../model/block-history.ts';
import type { KubeObject } from '../model/object.ts';
import { blockHistories } from '../model/resources.ts';
import type { HistoryBacklog } from './history-backlog.ts';
import type { OperatorBase } from './operator-base.ts';
import type { HistoryPace } from './operator-settings.ts';
import type { Terms } from './terms.ts';

/**
 * Writes the history of blocks. It never stands in the way of an allocation:
 * changes only mark a volume (history-backlog); the leader goes through marked
 * volumes one at a time, at a bounded rate, and waits while nodes wait for blocks.
 * A new leader compares all volumes once: its predecessor may have left any of them
 * behind. Writes are fenced by resourceVersion: of two leaders one is refused, reads
 * again, and usually finds nothing left to add.
 */
interface BlockHistoryWriterOptions extends OperatorBase {
  backlog: HistoryBacklog;
  terms: Terms;
  /** Whether nodes wait for blocks. */
  nodeQueue: { readonly isWaiting: boolean };
  pace: HistoryPace;
}

const compareAgainAfterMs = 30_000;

export class BlockHistoryWriter {
  readonly #o: BlockHistoryWriterOptions;
  readonly #writes: Counter;
  #hasComparedAll = false;
  #compareAgainMs = Number.NEGATIVE_INFINITY;

  constructor(options: BlockHistoryWriterOptions) {
    this.#o = options;
    this.#writes = options.metrics.counter(
      'cadastre_history_writes_total',
      'Volumes of block history written, by result.',
    );
  }

  /** A new term: every volume is compared once. */
  compareAll(): void {
    this.#hasComparedAll = false;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pace, terms, nodeQueue, clock } = this.#o;
    while (!signal.aborted) {
      await pause(pace.everyMs, signal);
      if (signal.aborted || !terms.mayAssign) continue;
      const mayCompare = clock.monotonicMs() >= this.#compareAgainMs && !nodeQueue.isWaiting;
      if (!this.#hasComparedAll && mayCompare) await this.#compareAll();
      const due = this.#nextDue();
      if (due !== undefined) await this.#write(due);
    }
  }

  /** One list, object by object: what is behind is marked, and read again when its turn comes. */
  async #compareAll(): Promise<void> {
    const { client, backlog, clock, log } = this.#o;
    this.#hasComparedAll = true;
    const missing = new Set(backlog.volumes());
    try {
      await client.listEach<KubeObject>(
        blockHistories,
        {},
        {
          onStart: () => {},
          onItem: (stored) => {
            const volume = stored.metadata?.name ?? '';
            missing.delete(volume);
            if (backlog.missingIn(volume, readHistory(stored)) !== undefined) backlog.mark(volume);
          },
        },
      );
      for (const volume of missing) backlog.mark(volume);
    } catch (error) {
      this.#hasComparedAll = false;
      this.#compareAgainMs = clock.monotonicMs() + compareAgainAfterMs;
      log.warn({ error: describeError(error) }, 'could not read block history');
    }
  }

  #nextDue(): string | undefined {
    const { backlog, pace, nodeQueue } = this.#o;
    const oldest = backlog.oldest();
    if (oldest === undefined || oldest.ageMs < pace.settleMs) return undefined;
    return nodeQueue.isWaiting && oldest.ageMs < pace.latestMs ? undefined : oldest.volume;
  }

  async #write(volume: string): Promise<void> {
    const { client, backlog, terms, log } = this.#o;
    backlog.unmark(volume);
    try {
      const stored = await getIfThere(client, blockHistories, volume);
      const after = backlog.missingIn(volume, stored === undefined ? [] : readHistory(stored));
      if (after === undefined || !terms.mayAssign) return;
      const body = writeHistory(volume, after);
      if (stored === undefined) await client.create(blockHistories, body);
      else {
        const { uid, resourceVersion } = stored.metadata ?? {};
        const metadata = { name: volume, ...(uid ? { uid } : {}), resourceVersion };
        await client.replace(blockHistories, volume, { ...body, metadata });
      }
      backlog.written(after);
      this.#writes.inc({ result: 'written' });
    } catch (error) {
      // Whatever it was: compared again later, with what is there then.
      const isRival = error instanceof ApiError && (error.isConflict || error.isAlreadyExists);
      this.#writes.inc({ result: isRival ? 'conflict' : 'failed' });
      if (!isRival)
        log.warn({ object: volume, error: describeError(error) }, 'could not write block history');
      backlog.mark(volume);
    }
  }
}
