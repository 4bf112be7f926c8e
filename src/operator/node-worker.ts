import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Cut } from '../plan/blocks/cut.ts';
import { decideNode, type NodeDecision, type Rules } from '../plan/blocks/decide-node.ts';
import type { Register } from '../plan/blocks/register.ts';
import { wasRegistered } from '../plan/blocks/restored.ts';
import { poolCandidates } from '../plan/pools/pool-candidates.ts';
import { whyPool } from '../plan/pools/why-pool.ts';
import type { BlockWriter } from './block-writer.ts';
import { CellGuards } from './cell-guards.ts';
import type { NodeReporter } from './node-reporter.ts';
import type { Projector } from './projector.ts';
import type { Outcome, Worker } from './work-queue.ts';

/**
 * When something about a node changes: ask, do, and ask again until there is
 * nothing left to do. Every round starts from what is known then, so a refused
 * write, a competitor or a crash needs no code of its own.
 */
export interface NodeWorkerOptions {
  register: Register;
  rules: Rules;
  writer: BlockWriter;
  projector: Projector;
  reporter: NodeReporter;
  /** Not while it is unclear which Nodes and blocks the store has. */
  mayAdopt(): boolean;
  /** Nothing new is cut before everything that nodes hold is adopted. */
  mayAssign(): boolean;
  /** Why not, as long as a node's condition should say so. */
  waitsFor?(): string | undefined;
  /** Resolves once the pool carries our finalizer and so cannot vanish under a new block. */
  holdPool(pool: string): Promise<void>;
  /** Deletes a block that was released by time alone: nothing else is free. */
  freeBlock(block: Block): Promise<void>;
  /** Hears of every block that came to a node, and how. */
  onAssigned: (cidr: string, by: 'Assigned' | 'Adopted' | 'Returned') => void;
  log: Log;
  metrics: Metrics;
}

/** More rounds than any competition should take; then back-off takes over. */
const mostRounds = 24;

export class NodeWorker implements Worker {
  readonly #o: NodeWorkerOptions;
  readonly #cells: CellGuards;
  readonly #decisions;

  constructor(options: NodeWorkerOptions) {
    this.#o = options;
    this.#cells = new CellGuards(options.writer);
    this.#decisions = options.metrics.counter(
      'cadastre_decisions_total',
      'Decisions written to the register, by reason.',
    );
    for (const reason of Object.keys(decisionTexts)) this.#decisions.inc({ reason }, 0);
  }

  async reconcile(name: string, othersWait: () => boolean): Promise<Outcome> {
    const { register, rules } = this.#o;
    let hasWritten = false;
    for (let round = 0; round < mostRounds; round++) {
      const node = register.nodes.get(name);
      if (node === undefined) {
        this.#o.reporter.forget(name);
        return undefined;
      }
      const decision = decideNode(register, node, rules);
      if (await this.#write(decision)) {
        hasWritten = true;
        continue;
      }
      if (!this.#o.mayAssign()) {
        await this.#reportWaiting(decision);
        return undefined;
      }
      // In a mass join every node gets its block before any block is projected.
      if (hasWritten && othersWait()) return { retryAfterMs: 0 };
      this.#o.reporter.note(decision);
      const projected = await this.#o.projector.project(decision);
      if (projected.kind === 'decide again') continue;
      await this.#o.reporter.report(decision);
      await this.#o.projector.reportOnCiliumNode(decision);
      return projected.kind === 'later' ? { retryAfterMs: projected.afterMs } : undefined;
    }
    throw new Error(`node ${name}: writes are still due after ${mostRounds} rounds`);
  }

  async #reportWaiting(decision: NodeDecision): Promise<void> {
    const detail = this.#o.waitsFor?.();
    if (detail === undefined || decision.assign.length + decision.refused.length === 0) return;
    const lacking = new Set(decision.assign.map(({ prefix }) => prefix.family));
    const waiting = [...lacking].map((family) => ({
      family,
      reason: 'WaitingForRegister' as const,
      detail,
    }));
    const waits = { ...decision, refused: [...decision.refused, ...waiting] };
    this.#o.reporter.note(waits);
    await this.#o.reporter.report(waits);
  }

  /** Does what the register needs; true if anything was done, so that it is asked again. */
  async #write(decision: NodeDecision): Promise<boolean> {
    const { writer } = this.#o;
    const { node } = decision;
    if (!this.#o.mayAdopt()) return false;
    for (const block of decision.rebind) {
      await writer.rebind(block, node);
      this.#log('Returned', node, block);
    }
    for (const cut of decision.adopt) {
      if (!(await this.#adopt(cut, node))) return true;
    }
    for (const cut of decision.unguarded) await this.#cells.list(cut);
    const isRegistered =
      decision.rebind.length + decision.adopt.length + decision.unguarded.length > 0;
    if (isRegistered) return true;
    if (!this.#o.mayAssign()) return false;
    for (const block of decision.surplus) {
      if (block.phase === 'Draining') continue;
      await writer.drain(block);
      this.#log('SurplusBlock', node, block);
      return true;
    }
    if (decision.assign.length === 0) return false;
    for (const { prefix, pool } of decision.assign) this.#explain(node, prefix, pool);
    await this.#assign(decision);
    return true;
  }

  /** A block of an odd size has cells to enter first, and is looked after once more when it is there. */
  async #adopt(cut: Cut, node: ClusterNode): Promise<boolean> {
    const { writer, register } = this.#o;
    const wasLost = wasRegistered(register, node, cut.prefix);
    await this.#o.holdPool(cut.pool);
    const entry = await this.#cells.enter(cut);
    if (entry === undefined) return false;
    const outcome = await writer.create(cut.prefix, cut.pool, node);
    this.#o.log.debug?.(
      { node: node.name, pool: cut.pool, block: `${cut.prefix}`, state: outcome.kind },
      'a block that the node holds already is to be registered',
    );
    if (outcome.kind === 'held') return false;
    if (outcome.isNew && !(await this.#cells.isStillAlone(cut, entry))) {
      await writer.free(outcome.block);
      return false;
    }
    this.#log('Adopted', node, cut);
    if (wasLost)
      this.#o.reporter.event(node, 'Warning', 'RestoredFromBackup', takenBack(cut, node));
    return true;
  }

  /** All families or none: what a competitor leaves half done is given back. */
  async #assign({ node, assign }: NodeDecision): Promise<void> {
    const { register, writer } = this.#o;
    for (const { prefix } of assign) register.reserve(node.name, prefix);
    const created: Array<{ prefix: Prefix; free: () => Promise<void> }> = [];
    try {
      for (const cut of assign) {
        // The store may have gone back in time since: what is there now is asked first.
        if (!this.#o.mayAssign()) return;
        await this.#o.holdPool(cut.pool);
        if (cut.replaces !== undefined) await this.#o.freeBlock(cut.replaces);
        const outcome = await writer.create(cut.prefix, cut.pool, node);
        if (outcome.kind === 'held') {
          this.#o.log.info(
            { node: node.name, block: cut.prefix.toString(), owner: outcome.block.nodeName },
            'another operator took the block first; choosing another block',
          );
          const again = decideNode(register, node, this.#o.rules);
          // By pool each cut stands for itself, and another pool may well be refused.
          const isStuck =
            !this.#o.rules.byPool && again.refused.length > 0 && again.assign.length === 0;
          if (isStuck) for (const half of created) await half.free();
          return;
        }
        const { block, isNew } = outcome;
        // What was there before may be in use: only what this call made is taken back.
        if (isNew) created.push({ prefix: cut.prefix, free: () => writer.free(block) });
        this.#log('Assigned', node, cut);
      }
    } finally {
      for (const { prefix } of assign) register.unreserve(node.name, prefix);
    }
  }

  #explain(node: ClusterNode, prefix: Prefix, pool: string): void {
    const { log, register } = this.#o;
    log.debug?.(
      {
        node: node.name,
        pool,
        block: `${prefix}`,
        detail: whyPool(poolCandidates(register)(node), pool),
      },
      'chose a pool, and its lowest free block',
    );
  }

  #log(
    reason: DecisionReason,
    node: ClusterNode,
    { prefix, pool }: { prefix: Prefix; pool: string },
  ): void {
    this.#decisions.inc({ reason });
    const cidr = prefix.toString();
    if (reason !== 'SurplusBlock') this.#o.onAssigned(cidr, reason);
    const message = decisionTexts[reason](cidr, node.name, pool);
    this.#o.log.info({ reason, node: node.name, block: cidr, pool }, message);
  }
}

function takenBack({ prefix }: Cut, { name }: ClusterNode): string {
  return `${prefix} was not in the register although the agent of ${name} uses it, as after a restore of etcd from a backup; it was taken back`;
}

type DecisionReason = 'Assigned' | 'Adopted' | 'Returned' | 'SurplusBlock';

const decisionTexts: Record<DecisionReason, (cidr: string, node: string, pool: string) => string> =
  {
    Assigned: (cidr, node, pool) => `assigned ${cidr} of pool ${pool} to node ${node}`,
    Adopted: (cidr, node, pool) => `adopted ${cidr}, which node ${node} holds, into pool ${pool}`,
    Returned: (cidr, node) => `gave ${cidr} back to node ${node}, which is there again`,
    SurplusBlock: (cidr, node) => `draining ${cidr} of node ${node}: more than it should have`,
  };
