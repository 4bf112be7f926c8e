import { getIfThere } from '../kube/get-if-there.ts';
import type { Resource } from '../kube/resource.ts';
import type { Block } from '../model/node-block.ts';
import { ciliumNodes, nodes } from '../model/resources.ts';
import { decideBlock } from '../plan/blocks/block-life.ts';
import type { Register } from '../plan/blocks/register.ts';
import type { BlockWriter } from './block-writer.ts';
import type { OperatorBase } from './operator-base.ts';
import type { Outcome, Worker } from './work-queue.ts';

/**
 * The end of blocks: when a node is really gone the cool-down of its blocks starts,
 * and when that is over they are freed. What is "gone" is asked of the API server itself,
 * never of a cache; and a Node that is merely being deleted is still there.
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
}

/** A guard is made just before the block it guards; it is not judged while that may be under way. */
const youngGuardMs = 60_000;

export class BlockWorker implements Worker {
  readonly #o: BlockWorkerOptions;

  constructor(options: BlockWorkerOptions) {
    this.#o = options;
  }

  async reconcile(name: string): Promise<Outcome> {
    const { register, writer, clock } = this.#o;
    const block = register.blocks.get(name);
    if (block === undefined) return undefined;
    const nowMs = clock.wallMs();
    const step = decideBlock(register, block, nowMs, this.#o.byDemand);
    switch (step.kind) {
      case 'stay':
        return undefined;
      case 'rest':
        return { retryAfterMs: step.untilMs - nowMs };
      case 'cool':
        if (step.nodeGone && (await this.#nodeExists(block))) return undefined;
        if (step.noRecord && !(await this.#isStillUnnamed(block, nowMs))) return undefined;
        await writer.cool(block, nowMs);
        this.#log(block, step.reason, `starts its cool-down: ${whyCool(step, block.nodeName)}`);
        return undefined;
      case 'free': {
        const ageMs = nowMs - block.createdMs;
        if (block.phase === 'Guard' && ageMs < youngGuardMs) {
          return { retryAfterMs: youngGuardMs - ageMs };
        }
        for (const prefix of step.unlessExists) {
          // The cache did not know the block behind the guard; the guard stays.
          if ((await writer.look(prefix)) !== undefined) return undefined;
        }
        await writer.free(block);
        // And once more: one that came in between is known now, and its node guards it anew.
        for (const prefix of step.unlessExists) await writer.look(prefix);
        this.#log(block, 'Released', 'is free again');
        return undefined;
      }
    }
  }

  #nodeExists(block: Block): Promise<boolean> {
    // Whatever comes back (the same node, or a new one of the name) corrects the cache.
    return this.#reread(nodes, block.nodeName, this.#o.nodeStore);
  }

  /** No record names the block, as far as the caches go; the API server is asked before that counts. */
  async #isStillUnnamed(block: Block, nowMs: number): Promise<boolean> {
    const { nodeStore, ciliumStore, cilium } = this.#o;
    await this.#reread(nodes, block.nodeName, nodeStore);
    if (cilium.isUsed) await this.#reread(ciliumNodes, block.nodeName, ciliumStore);
    const again = decideBlock(this.#o.register, block, nowMs, this.#o.byDemand);
    return again.kind === 'cool';
  }

  async #reread(resource: Resource, name: string, store: Store): Promise<boolean> {
    const raw = await getIfThere(this.#o.client, resource, name);
    if (raw !== undefined) store.put(raw);
    return raw !== undefined;
  }

  #log(block: Block, reason: string, what: string): void {
    const cidr = block.prefix.toString();
    const fields = { reason, node: block.nodeName, cidr, pool: block.pool };
    this.#o.log.info(fields, `${cidr} ${what}`);
  }
}

function whyCool({ nodeGone }: { nodeGone: boolean }, nodeName: string): string {
  return nodeGone ? `Node ${nodeName} was deleted` : `${nodeName} released it`;
}
