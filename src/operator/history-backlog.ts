import type { Clock } from '../base/clock.ts';
import { type BlockLog, volumeOf } from '../model/block-history.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeReport } from '../model/node-report.ts';
import { type BlockFacts, bringUpToDate, shortenVolume } from '../plan/blocks/block-history.ts';
import type { Register } from '../plan/blocks/register.ts';
import { selectingCandidates } from '../plan/pools/pool-candidates.ts';
import { whyPool } from '../plan/pools/why-pool.ts';
import type { BlockCacheHandlers } from './block-caches.ts';

/**
 * Which volumes of block history are behind, and what each should say. What a
 * volume should say is found by comparison (plan/blocks/block-history), so a volume
 * that was marked and not written, by whatever accident, needs no journal.
 */
interface HistoryBacklogOptions {
  register: Register;
  clock: Clock;
}

type AssignedBy = NonNullable<BlockFacts['givenBy']>;

const candidatesForMs = 5_000;
const mostRemembered = 20_000;

export class HistoryBacklog {
  readonly handlers: Pick<BlockCacheHandlers, 'blocks' | 'reports'>;
  readonly #o: HistoryBacklogOptions;
  /** Since when a volume is behind; marked first, written first: a Map keeps the order. */
  readonly #marked = new Map<string, number>();
  readonly #blocks = new Map<string, Map<string, Block>>();
  readonly #announcers = new Map<string, Map<string, readonly string[]>>();
  readonly #reported = new Map<string, readonly string[]>();
  readonly #assignedBy = new Map<string, AssignedBy>();
  /** Who said that the node of a block which is gone does not use it. */
  readonly #released = new Map<string, NonNullable<BlockFacts['released']>>();
  /** How full pools are is counted once for many volumes; nobody decides by it. */
  #candidates: { untilMs: number; judge: ReturnType<typeof selectingCandidates> } | undefined;

  constructor(options: HistoryBacklogOptions) {
    this.#o = options;
    this.handlers = {
      blocks: {
        onPut: (next) => this.#blockPut(next),
        onDelete: (last) => this.#blockGone(last),
      },
      reports: {
        onPut: (next) => this.#reportPut(next),
        onDelete: ({ name }) => this.#reportPut({ name }),
      },
    };
  }

  /** How a block came to its node; known only to who did it. */
  assigned(cidr: string, by: AssignedBy): void {
    if (this.#assignedBy.size > mostRemembered) this.#assignedBy.clear();
    this.#assignedBy.set(cidr, by);
  }

  /** Volumes that blocks of now belong to. */
  volumes(): IterableIterator<string> {
    return this.#blocks.keys();
  }

  mark(volume: string): void {
    if (!this.#marked.has(volume)) this.#marked.set(volume, this.#o.clock.monotonicMs());
  }

  /** The volume that has been behind for the longest time, and for how long. */
  oldest(): { volume: string; ageMs: number } | undefined {
    for (const [volume, sinceMs] of this.#marked) {
      return { volume, ageMs: this.#o.clock.monotonicMs() - sinceMs };
    }
    return undefined;
  }

  /** About to be written; what changes from now on marks it again. */
  unmark(volume: string): void {
    this.#marked.delete(volume);
  }

  /** Of a block that was given again meanwhile, how it came to its node is still to be written. */
  written(logs: readonly BlockLog[]): void {
    for (const { cidr, entries } of logs) {
      const held = this.#blocks.get(volumeOf(cidr))?.get(cidr);
      if (entries.some(({ blockUID }) => blockUID === held?.uid)) this.#assignedBy.delete(cidr);
    }
  }

  /** What a volume should say, if that is more than it says. */
  missingIn(volume: string, before: readonly BlockLog[]): BlockLog[] | undefined {
    const logs = new Map(before.map((log) => [log.cidr, log]));
    const held = this.#blocks.get(volume);
    const nowMs = this.#o.clock.wallMs();
    let isNew = false;
    for (const cidr of new Set([...logs.keys(), ...(held?.keys() ?? [])])) {
      const block = held?.get(cidr);
      const log = logs.get(cidr);
      const facts = {
        cidr,
        block,
        announcers: this.#announcers.get(cidr) ?? new Map(),
        givenBy: this.#assignedBy.get(cidr),
        released: this.#released.get(cidr),
        why: () => this.#whyPool(block),
      };
      const next = bringUpToDate(log, facts, nowMs);
      if (next === log || next === undefined) continue;
      isNew = true;
      logs.set(cidr, next);
    }
    return isNew ? shortenVolume([...logs.values()]) : undefined;
  }

  #whyPool(block: Block | undefined): string {
    const node = block === undefined ? undefined : this.#o.register.nodes.get(block.nodeName);
    if (block === undefined || node === undefined) return '';
    const nowMs = this.#o.clock.monotonicMs();
    if (this.#candidates === undefined || nowMs > this.#candidates.untilMs) {
      const judge = selectingCandidates(this.#o.register);
      this.#candidates = { judge, untilMs: nowMs + candidatesForMs };
    }
    return whyPool(this.#candidates.judge(node), block.pool) || 'no pool selects it now';
  }

  #blockPut(block: Block): void {
    const cidr = block.prefix.toString();
    const volume = volumeOf(cidr);
    const known = this.#blocks.get(volume);
    if (known === undefined) this.#blocks.set(volume, new Map([[cidr, block]]));
    else known.set(cidr, block);
    this.mark(volume);
  }

  #blockGone(block: Block): void {
    const cidr = block.prefix.toString();
    const volume = volumeOf(cidr);
    this.#blocks.get(volume)?.delete(cidr);
    this.#assignedBy.delete(cidr);
    if (this.#released.size > mostRemembered) this.#released.clear();
    if (block.released !== undefined) {
      this.#released.set(cidr, { uid: block.uid, witness: block.released });
    }
    this.mark(volume);
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
      this.mark(volumeOf(cidr));
    }
    if (now.size > 0) this.#reported.set(name, [...now.keys()]);
    else this.#reported.delete(name);
  }
}
