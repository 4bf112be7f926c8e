import { getIfThere } from '../kube/get-if-there.ts';
import type { Resource } from '../kube/resource.ts';
import type { Block, BlockWitness, WitnessName } from '../model/node-block.ts';
import { ciliumNodes, nodes } from '../model/resources.ts';
import { type BlockStep, decideBlock } from '../plan/blocks/block-life.ts';
import type { Register } from '../plan/blocks/register.ts';
import { witnessWords } from '../plan/blocks/witness.ts';
import type { BlockWriter } from './block-writer.ts';
import type { OperatorBase } from './operator-base.ts';
import type { ReleaseReporter } from './release-reporter.ts';
import type { ReportCleaner } from './report-cleaner.ts';
import { type RestCounter, writeEverySeconds } from './rest-counter.ts';
import type { WitnessSearch } from './witness-search.ts';
import type { Outcome, Worker } from './work-queue.ts';

/**
 * The end of blocks: when a node is really gone the cool-down of its blocks starts; when
 * that is over somebody who can know must say that the node does not use them; then they
 * are freed. What is "gone" is asked of the API server itself, never of a cache; and a
 * Node that is merely being deleted is still there.
 */
interface Store {
  put(raw: unknown): void;
}

interface BlockWorkerOptions extends OperatorBase {
  register: Register;
  writer: BlockWriter;
  byDemand: boolean;
  nodeStore: Store;
  ciliumStore: Store;
  /** Whether CiliumNodes are there, and believed. */
  cilium: { readonly isUsed: boolean };
  rest: RestCounter;
  search: WitnessSearch;
  attribution: { look(): Promise<void> };
  reporter: ReleaseReporter;
  reports: ReportCleaner;
}

/** A guard is made just before the block it guards; it is not judged while that may be under way. */
const youngGuardMs = 60_000;
/** Routers are asked in memory; whatever else may become a witness is an event of a cache. */
const searchEveryMs = 5_000;
/** What blocks record of their nodes and pools changes for many at once, and nobody waits for it. */
const recordEveryMs = 50;

type Cool = Extract<BlockStep, { kind: 'cool' }>;

export class BlockWorker implements Worker {
  readonly #o: BlockWorkerOptions;
  #nextRecordMs = Number.NEGATIVE_INFINITY;

  constructor(options: BlockWorkerOptions) {
    this.#o = options;
  }

  async reconcile(name: string): Promise<Outcome> {
    const { register, rest } = this.#o;
    const block = register.blocks.get(name);
    if (block?.phase !== 'Cooling') rest.forget(name);
    if (block === undefined) return undefined;
    const step = this.#decide(block);
    switch (step.kind) {
      case 'stay':
        return this.#endWaiting(block);
      case 'record':
        return this.#record(block);
      case 'doubt':
        await this.#o.reporter.awaiting(block, [step.why], 'ReportNotAttributed');
        return undefined;
      case 'used':
        return this.#stillUsed(block, [step.why]);
      case 'witness':
        return this.#setWitness(block, step.by, step.detail);
      case 'cool':
        return this.#cool(block, step);
      case 'drain':
        return this.#drainAgain(block);
      case 'rest':
        return this.#watch(block, step.seconds);
      case 'keep for last':
        return this.#watch(block, step.seconds);
      case 'await':
        return this.#seekWitness(block);
      case 'free':
        if (block.phase === 'Guard') return this.#freeGuard(block, step);
        return this.#freeReleased(block);
    }
  }

  #decide(block: Block): BlockStep {
    const { register, rest, byDemand } = this.#o;
    const restedSeconds = block.phase === 'Cooling' ? rest.seconds(block) : 0;
    return decideBlock(register, block, restedSeconds, byDemand);
  }

  /** A node that came back has its block; what was missing for its release is of no interest. */
  async #endWaiting(block: Block): Promise<undefined> {
    if (block.releasable !== undefined) await this.#o.writer.say(block, undefined);
    return undefined;
  }

  async #record(block: Block): Promise<Outcome> {
    const { register, writer, clock } = this.#o;
    const node = register.nodes.get(block.nodeName);
    if (node?.uid !== block.nodeUid) return undefined;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextRecordMs) return { retryAfterMs: this.#nextRecordMs - nowMs };
    this.#nextRecordMs = nowMs + recordEveryMs;
    await writer.record(block, node);
    return undefined;
  }

  async #setWitness(block: Block, by: WitnessName | null, detail: string): Promise<undefined> {
    // A word is taken back only if the API server itself says that the node is there, and how.
    if (by === null) {
      const isThere = await this.#reread(nodes, block.nodeName, this.#o.nodeStore);
      if (!isThere || this.#decide(block).kind !== 'witness') return undefined;
    }
    await this.#o.writer.witness(block, by === null ? null : this.#witness(by, detail));
    const what = by === null ? 'is used again' : 'is not used';
    this.#log(block, by ?? 'BlocksAssigned', `${what}: ${detail}`);
    return undefined;
  }

  async #cool(block: Block, step: Cool): Promise<Outcome> {
    const { writer, clock, search } = this.#o;
    if (!(await this.#isConfirmed(block, step))) return undefined;
    // Others than its agent may have written the record, too.
    if (step.noRecord || step.letGo) {
      const uses = await search.usesOf(block);
      if (uses.length > 0) return this.#stillUsed(block, uses);
    }
    const byNode: WitnessName = step.noRecord ? 'NoRecord' : 'Agent';
    const why = step.nodeGone ? `Node ${block.nodeName} is gone` : `${block.nodeName} released it`;
    const witness = step.nodeGone ? undefined : this.#witness(byNode, why);
    await writer.cool(block, clock.wallMs(), witness);
    this.#log(block, step.reason, `starts its cool-down: ${why}`);
    return undefined;
  }

  async #stillUsed(block: Block, uses: readonly string[]): Promise<Outcome> {
    await this.#o.reporter.used(block, uses);
    return { retryAfterMs: searchEveryMs };
  }

  /**
   * Records were all that spoke for it: what lives in the block is looked for once more,
   * before another node gets it.
   */
  async #freeReleased(block: Block): Promise<Outcome> {
    if (block.released?.by === 'NoRecord') {
      const uses = await this.#o.search.usesOf(block);
      if (uses.length > 0) return this.#stillUsed(block, uses);
    }
    await this.free(block);
    return undefined;
  }

  /** As far as the caches go it is so; the API server is asked before that counts. */
  async #isConfirmed(block: Block, { nodeGone, noRecord, letGo }: Cool): Promise<boolean> {
    const { nodeStore, ciliumStore, cilium, attribution } = this.#o;
    if (letGo) {
      await this.#reread(ciliumNodes, block.nodeName, ciliumStore);
      return this.#decide(block).kind === 'cool';
    }
    // After the report was read, which is in the cache.
    if (!nodeGone) await attribution.look();
    if (!nodeGone && !noRecord) return this.#decide(block).kind === 'cool';
    const isThere = await this.#reread(nodes, block.nodeName, nodeStore);
    if (noRecord && cilium.isUsed) await this.#reread(ciliumNodes, block.nodeName, ciliumStore);
    // Whatever came back (the same node, or a new one of the name) has corrected the cache.
    if (nodeGone && !isThere) return true;
    return this.#decide(block).kind === 'cool';
  }

  async #drainAgain(block: Block): Promise<undefined> {
    await this.#reread(nodes, block.nodeName, this.#o.nodeStore);
    const step = this.#decide(block);
    if (step.kind !== 'drain') return undefined;
    await this.#o.writer.drainAgain(block, step.node);
    const why = `Node ${block.nodeName} is there again, with another block`;
    this.#log(block, 'Released', `drains until nobody uses it: ${why}`);
    return undefined;
  }

  /** The next leader goes on from what is written now and then. */
  async #watch(block: Block, leftSeconds: number): Promise<Outcome> {
    const { rest, writer } = this.#o;
    const rested = rest.seconds(block);
    const everySeconds = writeEverySeconds(rested + leftSeconds);
    const writtenSeconds = block.restedSeconds ?? 0;
    if (Math.floor(rested) - writtenSeconds >= everySeconds) {
      await writer.rest(block, Math.floor(rested));
      return { retryAfterMs: Math.min(leftSeconds, everySeconds) * 1000 };
    }
    const dueSeconds = Math.max(writtenSeconds + everySeconds - rested, 1);
    return { retryAfterMs: Math.ceil(Math.min(leftSeconds, dueSeconds) * 1000) };
  }

  async #seekWitness(block: Block): Promise<Outcome> {
    const { rest, search, writer, reporter } = this.#o;
    const restedSeconds = rest.seconds(block);
    const verdict = await search.find(block, restedSeconds);
    if (verdict.kind === 'witness') {
      const { by, detail } = verdict;
      search.forget(block);
      // Written before anything is done by its word; a crash in between is harmless.
      await writer.witness(block, this.#witness(by, detail), Math.floor(restedSeconds));
      if (by === 'Time') reporter.byTime(block, detail);
      return { retryAfterMs: 0 };
    }
    if (verdict.kind !== 'awaiting') return { retryAfterMs: searchEveryMs };
    // That it has rested is written at once: pools count it as awaiting release from now on.
    if (block.restedSeconds === undefined || this.#isRestDue(block, restedSeconds)) {
      await writer.rest(block, Math.floor(restedSeconds));
      return { retryAfterMs: 0 };
    }
    const reason = verdict.isDoubted ? 'ReportNotAttributed' : 'AwaitingWitness';
    await reporter.awaiting(block, verdict.missing, reason);
    const leftSeconds = (verdict.restSeconds ?? 0) - restedSeconds;
    if (leftSeconds <= 0) return { retryAfterMs: searchEveryMs };
    const { retryAfterMs = searchEveryMs } = (await this.#watch(block, leftSeconds)) ?? {};
    return { retryAfterMs: Math.min(retryAfterMs, searchEveryMs) };
  }

  /** Whether what is written of the rest is less than the cool-down, which is over. */
  #isRestDue(block: Block, restedSeconds: number): boolean {
    const { register, byDemand } = this.#o;
    if (Math.floor(restedSeconds) <= (block.restedSeconds ?? 0)) return false;
    return decideBlock(register, block, block.restedSeconds ?? 0, byDemand).kind === 'rest';
  }

  /** Deletes a block whose release is settled, and the report of its node with the last one. */
  async free(block: Block): Promise<void> {
    const { writer, rest, reports, reporter } = this.#o;
    await writer.free(block);
    rest.forget(block.name);
    reporter.freed(block);
    const { released } = block;
    const why = released === undefined ? '' : `: ${witnessWords(released)}`;
    this.#log(block, 'Released', `is free again${why}`);
    await reports.blockFreed(block);
  }

  async #freeGuard(guard: Block, step: Extract<BlockStep, { kind: 'free' }>): Promise<Outcome> {
    const { writer, clock } = this.#o;
    const ageMs = clock.wallMs() - guard.createdMs;
    if (ageMs < youngGuardMs) return { retryAfterMs: youngGuardMs - ageMs };
    for (const prefix of step.unlessExists) {
      // The cache did not know the block behind the guard; the guard stays.
      if ((await writer.look(prefix)) !== undefined) return undefined;
    }
    await writer.free(guard);
    // And once more: one that came in between is known now, and its node guards it anew.
    for (const prefix of step.unlessExists) await writer.look(prefix);
    this.#log(guard, 'Released', 'is free again');
    return undefined;
  }

  #witness(by: WitnessName, detail: string): BlockWitness {
    return { by, at: new Date(this.#o.clock.wallMs()).toISOString(), detail };
  }

  async #reread(resource: Resource, name: string, store: Store): Promise<boolean> {
    const raw = await getIfThere(this.#o.client, resource, name);
    if (raw !== undefined) store.put(raw);
    return raw !== undefined;
  }

  #log(block: Block, reason: string, what: string): void {
    const cidr = block.prefix.toString();
    const fields = { reason, node: block.nodeName, block: cidr, pool: block.pool };
    this.#o.log.info(fields, `${cidr} ${what}`);
  }
}
