import type { EventRecorder } from '../kube/events.ts';
import { apiVersion, releasableCondition } from '../model/keys.ts';
import type { Block } from '../model/node-block.ts';
import type { Reason } from '../model/reasons.ts';
import { awaitingWords, witnessWords } from '../plan/blocks/witness.ts';
import { dated } from '../plan/pools/pool-conditions.ts';
import type { BlockWriter } from './block-writer.ts';
import type { OperatorBase } from './operator-base.ts';

/**
 * What people see of blocks that wait for a witness, and of the witness when it came:
 * a condition and an Event on the NodeBlock, a metric and a log line.
 */
interface ReleaseReporterOptions extends OperatorBase {
  writer: BlockWriter;
  events: EventRecorder;
}

export class ReleaseReporter {
  readonly #o: ReleaseReporterOptions;
  readonly #released;

  constructor(options: ReleaseReporterOptions) {
    this.#o = options;
    this.#released = options.metrics.counter(
      'cadastre_blocks_released_total',
      'Blocks that became free, by who said that their old node does not use them.',
    );
  }

  async awaiting(
    block: Block,
    missing: readonly string[],
    reason: 'AwaitingWitness' | 'ReportNotAttributed',
  ): Promise<void> {
    await this.#hold(block, awaitingWords(block, missing), reason);
  }

  /** Cilium's agent dropped the block from its CiliumNode, although it is in use. */
  async stillInUse(block: Block, left: readonly string[]): Promise<void> {
    const message = `CiliumNode ${block.nodeName} no longer lists it, but it is in use: ${left.join('; ')}`;
    await this.#hold(block, message, 'AwaitingWitness');
  }

  async #hold(
    block: Block,
    message: string,
    reason: 'AwaitingWitness' | 'ReportNotAttributed',
  ): Promise<void> {
    if (block.releasable?.message === message) return;
    const nowText = new Date(this.#o.clock.wallMs()).toISOString();
    const condition = {
      type: releasableCondition,
      status: 'False',
      reason: reason satisfies Reason,
      message,
    } as const;
    const before = block.releasable === undefined ? [] : [block.releasable];
    await this.#o.writer.say(block, dated(condition, before, nowText));
    this.#warn(block, reason, message);
  }

  /** Nobody said it: people should know, before another node gets the block. */
  byTime(block: Block, detail: string): void {
    this.#warn(block, 'ReleasedByTime', `released by time alone: ${detail}`);
  }

  freed(block: Block): void {
    const { released } = block;
    if (released === undefined) return;
    this.#released.inc({ by: released.by });
    this.#event(block, 'Normal', 'Released', `is free again: ${witnessWords(released)}`);
  }

  #warn(block: Block, reason: Reason, message: string): void {
    const cidr = block.prefix.toString();
    const fields = { reason, node: block.nodeName, cidr, pool: block.pool };
    this.#o.log.warn(fields, `${cidr}: ${message}`);
    this.#event(block, 'Warning', reason, message);
  }

  #event(block: Block, type: 'Normal' | 'Warning', reason: Reason, message: string): void {
    const object = { apiVersion, kind: 'NodeBlock', name: block.name, uid: block.uid };
    this.#o.events.record({ object, type, reason, message });
  }
}
