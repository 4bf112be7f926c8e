import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { ClusterNode } from '../model/node.ts';
import { decideNode, type Rules } from '../plan/blocks/decide-node.ts';
import type { Register } from '../plan/blocks/register.ts';
import { compareText } from '../plan/pools/pool-set.ts';
import type { Term } from './terms.ts';
import type { OperatorQueues } from './work-queue.ts';

/**
 * What a new leader does before anything else. Nothing new is cut before all that
 * exists is known: it lists the blocks afresh, adopts what nodes hold already, and
 * only then assigns.
 */
interface TakeOverOptions {
  register: Register;
  rules: Rules;
  blockCache: { relist(): Promise<void> };
  queues: OperatorQueues;
  log: Log;
}

const againAfterMs = 1_000;

export class TakeOver {
  readonly #o: TakeOverOptions;

  constructor(options: TakeOverOptions) {
    this.#o = options;
  }

  /** `listedSinceMs`: when the lists that filled the caches began. Never throws. */
  async run(term: Term, listedSinceMs: number): Promise<void> {
    const { blockCache, queues, log } = this.#o;
    try {
      // Blocks that another leader wrote before we won may not have reached our cache.
      if (listedSinceMs < term.sinceMs) await blockCache.relist();
      if (term.isOver) return;
      const { adopted, waiting } = this.#startAdoption();
      if (adopted > 0) log.info({ nodes: adopted }, 'adopting blocks that nodes already hold');
      await queues.nodes.idle();
      if (term.isOver) return;
      term.hasAdopted = true;
      const nodes = this.#nodesInOrder();
      log.info({ nodes: nodes.length, adopted }, 'this replica leads and allocates');
      // Who waits for a block comes before those that only need a look.
      for (const name of waiting) queues.nodes.add(name);
      for (const { name } of nodes) queues.nodes.add(name);
      for (const name of this.#o.register.blocks.keys()) queues.blocks.add(name);
      for (const { name } of this.#o.register.poolSet.pools) queues.pools.add(name);
    } catch (error) {
      log.error(
        { error: describeError(error) },
        'could not adopt blocks after winning the lease; trying again',
      );
      setTimeout(() => !term.isOver && void this.run(term, listedSinceMs), againAfterMs).unref();
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
