import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../kube/backoff.ts';
import type { ClusterNode } from '../model/node.ts';
import { reportVersions, unheardAgents } from '../plan/blocks/awaited-agents.ts';
import { decideNode, type Rules } from '../plan/blocks/decide-node.ts';
import type { Register } from '../plan/blocks/register.ts';
import { lostBlocks } from '../plan/blocks/restored.ts';
import { compareText } from '../plan/pools/pool-set.ts';
import type { NodeReporter } from './node-reporter.ts';
import type { RestoreWatch, StoreMemory } from './restore-watch.ts';
import type { Term } from './terms.ts';
import type { OperatorQueues } from './work-queue.ts';

/**
 * What a leader does before it assigns anything. Nothing new is cut before all that
 * exists is known: it lists the blocks afresh, adopts what nodes hold already, and
 * only then assigns.
 *
 * The same again when the API server's store went back in time, or may have while
 * nobody watched (`Term.doubt`). Then what exists is not all in the store: agents use
 * blocks that it has lost. So everything is listed afresh, and before anything new is
 * cut all agents that were alive have reported what they use, or `settleMs` is over.
 */
interface TakeOverOptions {
  register: Register;
  rules: Rules;
  caches: {
    relistBlocks(): Promise<void>;
    relistAll(): Promise<unknown>;
  };
  restores: Pick<RestoreWatch, 'memory' | 'notices' | 'settled'>;
  settleMs: number;
  queues: OperatorQueues;
  reporter: Pick<NodeReporter, 'event'>;
  clock: Clock;
  log: Log;
}

const againAfterMs = 1_000;
const lookEveryMs = 50;

export class TakeOver {
  readonly #o: TakeOverOptions;
  #running: Term | undefined;
  /** Of this term, or of one that ended before the doubt was settled. */
  #doubt: string | undefined;

  constructor(options: TakeOverOptions) {
    this.#o = options;
  }

  /** `listedSinceMs`: when the lists that filled the caches began. Never throws. */
  async run(term: Term, listedSinceMs: number): Promise<void> {
    // Whatever is noticed meanwhile is settled before this run is over.
    if (this.#running === term) return;
    this.#running = term;
    this.#doubt ??= term.doubt;
    try {
      if (listedSinceMs < term.sinceMs) await this.#o.caches.relistBlocks();
      if (!this.#mustSettle) term.mayAdopt = true;
      let waiting = this.#mustSettle ? new Set<string>() : await this.#adoptAll(term);
      while (!term.isOver && this.#mustSettle) waiting = await this.#settle(term);
      if (!term.isOver) this.#assign(term, waiting);
    } catch (error) {
      const { log } = this.#o;
      log.error(
        { error: describeError(error) },
        'could not adopt blocks before assigning; trying again',
      );
      setTimeout(() => !term.isOver && void this.run(term, listedSinceMs), againAfterMs).unref();
    } finally {
      if (this.#running === term) this.#running = undefined;
    }
  }

  /** In a term that serves: the store went back in time. Nothing is assigned from now on. */
  startOver(term: Term): void {
    term.hasAdopted = false;
    // A block must not be adopted for a Node that the store has lost: it would cool at once.
    term.mayAdopt = false;
    // The caches are listed afresh anyway.
    void this.run(term, Number.POSITIVE_INFINITY);
  }

  get #mustSettle(): boolean {
    return this.#doubt !== undefined || this.#o.restores.memory !== undefined;
  }

  /** Returns the nodes that wait for new blocks. */
  async #settle(term: Term): Promise<Set<string>> {
    const { restores, caches, settleMs, register, queues, log, clock } = this.#o;
    if (restores.memory !== undefined) await caches.relistAll();
    const { memory, notices } = restores;
    const isSameStore = () => notices === restores.notices;
    term.mayAdopt = true;
    const awaited = { versions: reportVersions(register), before: knownBefore(register, memory) };
    const why = memory === undefined ? this.#doubt : "the API server's store went back in time";
    term.waitsFor = `${why}; nothing is cut before agents have reported the blocks they use, or ${settleMs / 1_000} s are over`;
    log.warn({ reason: 'WaitingForRegister' }, term.waitsFor);
    for (const name of await this.#adoptAll(term)) queues.nodes.add(name);
    const untilMs = clock.monotonicMs() + settleMs;
    let unheard = unheardAgents(register, awaited);
    while (unheard.length > 0 && clock.monotonicMs() < untilMs && !term.isOver && isSameStore()) {
      await pause(lookEveryMs);
      // Reports that came meanwhile were adopted from by the queue.
      unheard = unheardAgents(register, awaited);
    }
    const waiting = await this.#adoptAll(term);
    // Another sign came: everything is listed once more.
    if (term.isOver || !isSameStore()) return waiting;
    term.waitsFor = undefined;
    this.#doubt = undefined;
    restores.settled(notices);
    if (unheard.length > 0) {
      log.warn(
        { nodes: unheard.slice(0, 20), count: unheard.length },
        `${unheard.length} agents have not reported since; assigning blocks without them`,
      );
    }
    this.#reportLosses(memory);
    return waiting;
  }

  /** Adopts what nodes hold; returns the nodes that wait for new blocks. */
  async #adoptAll(term: Term): Promise<Set<string>> {
    if (term.isOver) return new Set();
    const { adopted, waiting } = this.#startAdoption();
    if (adopted > 0) {
      this.#o.log.info({ nodes: adopted }, 'adopting blocks that nodes already hold');
    }
    await this.#o.queues.nodes.idle();
    return waiting;
  }

  #assign(term: Term, waiting: ReadonlySet<string>): void {
    const { queues, register, log } = this.#o;
    term.hasAdopted = true;
    const nodes = this.#nodesInOrder();
    log.info({ nodes: nodes.length }, 'this replica leads and allocates');
    // Who waits for a block comes before those that only need a look.
    for (const name of waiting) queues.nodes.add(name);
    for (const { name } of nodes) queues.nodes.add(name);
    for (const name of register.blocks.keys()) queues.blocks.add(name);
    for (const { name } of register.poolSet.pools) queues.pools.add(name);
  }

  /** What was taken back is reported where it is adopted. */
  #reportLosses(memory: StoreMemory | undefined): void {
    const { register, reporter, log } = this.#o;
    const lost = lostBlocks(register, memory?.blocks ?? []);
    if (lost.length === 0) return;
    const count = (now: string) => lost.filter((one) => one.now === now).length;
    log.warn(
      {
        reason: 'RestoredFromBackup',
        count: lost.length,
        detail: {
          registered: count('registered'),
          disputed: count('disputed'),
          missing: count('missing'),
        },
      },
      `${lost.length} NodeBlocks were lost with the store's last changes`,
    );
    for (const { block, now, detail } of lost) {
      if (now === 'registered') continue;
      const fields = { node: block.nodeName, block: block.prefix.toString() };
      log.warn({ reason: 'RestoredFromBackup', ...fields }, detail);
      const node = register.nodes.get(block.nodeName);
      if (node !== undefined) reporter.event(node, 'Warning', 'RestoredFromBackup', detail);
    }
  }

  /** Puts nodes that hold blocks which are not theirs in the register into the queue. */
  #startAdoption(): { adopted: number; waiting: Set<string> } {
    const { register, rules, queues } = this.#o;
    let adopted = 0;
    const waiting = new Set<string>();
    for (const node of this.#nodesInOrder()) {
      const { adopt, rebind, assign } = decideNode(register, node, rules);
      if (assign.length > 0) waiting.add(node.name);
      if (adopt.length + rebind.length === 0) continue;
      adopted += 1;
      queues.nodes.add(node.name);
    }
    return { adopted, waiting };
  }

  /** The order of the dry run: oldest first, then by name. */
  #nodesInOrder(): ClusterNode[] {
    return [...this.#o.register.nodes.values()].sort(
      (a, b) => a.createdMs - b.createdMs || compareText(a.name, b.name),
    );
  }
}

function knownBefore(register: Register, memory: StoreMemory | undefined) {
  if (memory === undefined) return undefined;
  const lost = lostBlocks(register, memory.blocks).filter(({ now }) => now !== 'registered');
  return { reports: memory.reports, lost: lost.map(({ block }) => block) };
}
