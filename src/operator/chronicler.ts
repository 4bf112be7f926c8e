import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Counter, Metrics } from '../base/metrics.ts';
import { ApiError } from '../kube/api-error.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import { type BlockLog, readHistory, volumeOf, writeHistory } from '../model/block-history.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeReport } from '../model/node-report.ts';
import type { KubeObject } from '../model/object.ts';
import { blockHistories } from '../model/resources.ts';
import { type BlockFacts, bringUpToDate, shortenVolume } from '../plan/blocks/block-history.ts';
import type { Register } from '../plan/blocks/register.ts';
import { poolCandidates } from '../plan/pools/pool-candidates.ts';
import { whyPool } from '../plan/pools/why-pool.ts';
import type { CopyHandlers } from './copies.ts';

/**
 * Writes the history of blocks. It never stands in the way of an allocation:
 * changes only mark a volume; the leader goes through marked volumes one at a
 * time, at a bounded rate, and waits while nodes wait for blocks. What a volume
 * should say is found by comparison (plan/block-history), so a volume that was
 * marked and not written, by whatever accident, is written by the next leader,
 * who compares all of them once. Writes are fenced by resourceVersion: of two
 * leaders one is refused, reads again, and usually finds nothing left to add.
 */
export interface ChroniclerOptions {
  client: KubeClient;
  register: Register;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  isLeading(): boolean;
  /** Whether nodes wait for blocks. */
  isBusy(): boolean;
  pace?: ChroniclerPace | undefined;
}

export interface ChroniclerPace {
  /** So long after the first change a volume is written, with all that came meanwhile. */
  settleMs: number;
  /** However busy the operator is. */
  latestMs: number;
  /** Between two volumes. */
  everyMs: number;
}

export const usualPace: ChroniclerPace = { settleMs: 3_000, latestMs: 120_000, everyMs: 100 };

const lookAgainAfterMs = 30_000;
const candidatesForMs = 5_000;

type GivenBy = NonNullable<BlockFacts['givenBy']>;

export class Chronicler {
  readonly #o: ChroniclerOptions;
  readonly #pace: ChroniclerPace;
  readonly #writes: Counter;
  /** Since when a volume is behind. */
  readonly #marked = new Map<string, number>();
  readonly #blocks = new Map<string, Map<string, Block>>();
  readonly #announcers = new Map<string, Map<string, readonly string[]>>();
  readonly #reported = new Map<string, readonly string[]>();
  readonly #given = new Map<string, GivenBy>();
  #isLookedThrough = false;
  #lookAgainMs = Number.NEGATIVE_INFINITY;
  /** How full pools are is counted once for many volumes; nobody decides by it. */
  #candidates: { untilMs: number; judge: ReturnType<typeof poolCandidates> } | undefined;

  constructor(options: ChroniclerOptions) {
    this.#o = options;
    this.#pace = options.pace ?? usualPace;
    this.#writes = options.metrics.counter(
      'cadastre_history_writes_total',
      'Volumes of block history written, by result.',
    );
  }

  /** The same handlers, heard by the chronicler too. */
  listenTo(handlers: CopyHandlers): CopyHandlers {
    const { blocks, reports } = handlers;
    return {
      ...handlers,
      blocks: {
        onPut: (next, prev) => {
          blocks.onPut?.(next, prev);
          this.#blockPut(next);
        },
        onDelete: (last, how) => {
          blocks.onDelete?.(last, how);
          this.#blockGone(last);
        },
      },
      reports: {
        onPut: (next, prev) => {
          reports.onPut?.(next, prev);
          this.#reportPut(next);
        },
        onDelete: (last, how) => {
          reports.onDelete?.(last, how);
          this.#reportPut({ name: last.name });
        },
      },
    };
  }

  /** How a block came to its node; known only to who did it. */
  given(cidr: string, by: GivenBy): void {
    if (this.#given.size > 20_000) this.#given.clear();
    this.#given.set(cidr, by);
  }

  /** A new leader compares every volume once: its predecessor may have left any of them behind. */
  lookThrough(): void {
    this.#isLookedThrough = false;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(this.#pace.everyMs, signal);
      if (signal.aborted || !this.#o.isLeading()) continue;
      const mayLook = this.#o.clock.monotonicMs() >= this.#lookAgainMs && !this.#o.isBusy();
      if (!this.#isLookedThrough && mayLook) await this.#lookAtAll();
      const due = this.#nextDue();
      if (due !== undefined) await this.#keep(due);
    }
  }

  /** One list, object by object: what is behind is marked, and read again when its turn comes. */
  async #lookAtAll(): Promise<void> {
    this.#isLookedThrough = true;
    const missing = new Set(this.#blocks.keys());
    try {
      await this.#o.client.listEach<KubeObject>(
        blockHistories,
        {},
        {
          onStart: () => {},
          onItem: (stored) => {
            const volume = stored.metadata?.name ?? '';
            missing.delete(volume);
            if (this.#bringUpToDate(volume, readHistory(stored)) !== undefined) this.#mark(volume);
          },
        },
      );
      for (const volume of missing) this.#mark(volume);
    } catch (error) {
      this.#isLookedThrough = false;
      this.#lookAgainMs = this.#o.clock.monotonicMs() + lookAgainAfterMs;
      this.#o.log.warn({ error: describeError(error) }, 'could not read block history');
    }
  }

  #nextDue(): string | undefined {
    const nowMs = this.#o.clock.monotonicMs();
    const isBusy = this.#o.isBusy();
    // Marked first, written first: a Map keeps the order.
    for (const [volume, sinceMs] of this.#marked) {
      const ageMs = nowMs - sinceMs;
      if (ageMs < this.#pace.settleMs) return undefined;
      return isBusy && ageMs < this.#pace.latestMs ? undefined : volume;
    }
    return undefined;
  }

  async #keep(volume: string): Promise<void> {
    this.#marked.delete(volume);
    try {
      const stored = await this.#read(volume);
      const before = stored === undefined ? [] : readHistory(stored);
      const after = this.#bringUpToDate(volume, before);
      if (after === undefined) return;
      if (!this.#o.isLeading()) return;
      const body = writeHistory(volume, after);
      if (stored === undefined) await this.#o.client.create(blockHistories, body);
      else {
        const { uid, resourceVersion } = stored.metadata ?? {};
        const metadata = { name: volume, ...(uid ? { uid } : {}), resourceVersion };
        await this.#o.client.replace(blockHistories, volume, { ...body, metadata });
      }
      for (const { cidr } of after) this.#given.delete(cidr);
      this.#writes.inc({ result: 'written' });
    } catch (error) {
      // Whatever it was: compared again later, with what is there then.
      const isRival = error instanceof ApiError && (error.isConflict || error.isAlreadyExists);
      this.#writes.inc({ result: isRival ? 'conflict' : 'failed' });
      if (!isRival) {
        this.#o.log.warn({ volume, error: describeError(error) }, 'could not write block history');
      }
      this.#mark(volume);
    }
  }

  /** undefined if there is nothing to add. */
  #bringUpToDate(volume: string, before: readonly BlockLog[]): BlockLog[] | undefined {
    const logs = new Map(before.map((log) => [log.cidr, log]));
    const held = this.#blocks.get(volume);
    const nowMs = this.#o.clock.wallMs();
    const why = this.#whyNow();
    let isNew = false;
    for (const cidr of new Set([...logs.keys(), ...(held?.keys() ?? [])])) {
      const block = held?.get(cidr);
      const announcers = this.#announcers.get(cidr) ?? new Map();
      const log = logs.get(cidr);
      const facts = {
        cidr,
        block,
        announcers,
        givenBy: this.#given.get(cidr),
        why: () => why(block),
      };
      const next = bringUpToDate(log, facts, nowMs);
      if (next === log || next === undefined) continue;
      isNew = true;
      logs.set(cidr, next);
    }
    return isNew ? shortenVolume([...logs.values()]) : undefined;
  }

  #whyNow(): (block: Block | undefined) => string {
    return (block) => {
      const node = block === undefined ? undefined : this.#o.register.nodes.get(block.nodeName);
      if (block === undefined || node === undefined) return '';
      const nowMs = this.#o.clock.monotonicMs();
      if (this.#candidates === undefined || nowMs > this.#candidates.untilMs) {
        const judge = poolCandidates(this.#o.register);
        this.#candidates = { judge, untilMs: nowMs + candidatesForMs };
      }
      return whyPool(this.#candidates.judge(node), block.pool) || 'no pool selects it now';
    };
  }

  async #read(volume: string): Promise<KubeObject | undefined> {
    try {
      return await this.#o.client.get<KubeObject>(blockHistories, volume);
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return undefined;
      throw error;
    }
  }

  #blockPut(block: Block): void {
    const cidr = block.prefix.toString();
    const volume = volumeOf(cidr);
    const known = this.#blocks.get(volume);
    if (known === undefined) this.#blocks.set(volume, new Map([[cidr, block]]));
    else known.set(cidr, block);
    this.#mark(volume);
  }

  #blockGone(block: Block): void {
    const cidr = block.prefix.toString();
    const volume = volumeOf(cidr);
    this.#blocks.get(volume)?.delete(cidr);
    this.#given.delete(cidr);
    this.#mark(volume);
  }

  #reportPut({ name, announced }: Pick<NodeReport, 'name' | 'announced'>): void {
    const now = announced ?? new Map<string, readonly string[]>();
    const before = this.#reported.get(name) ?? [];
    for (const cidr of new Set([...before, ...now.keys()])) {
      const peers = now.get(cidr);
      const known = this.#announcers.get(cidr) ?? new Map<string, readonly string[]>();
      if (known.get(name)?.join() === peers?.join()) continue;
      if (peers === undefined) known.delete(name);
      else known.set(name, peers);
      if (known.size > 0) this.#announcers.set(cidr, known);
      else this.#announcers.delete(cidr);
      this.#mark(volumeOf(cidr));
    }
    if (now.size > 0) this.#reported.set(name, [...now.keys()]);
    else this.#reported.delete(name);
  }

  #mark(volume: string): void {
    if (!this.#marked.has(volume)) this.#marked.set(volume, this.#o.clock.monotonicMs());
  }
}
