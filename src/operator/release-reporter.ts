import type { EventRecorder } from '../kube/events.ts';
import { apiVersion, releasableCondition } from '../model/keys.ts';
import type { Block } from '../model/node-block.ts';
import type { Reason } from '../model/reasons.ts';
import { awaitingWords, usedBlockWords, witnessWords } from '../plan/blocks/witness.ts';
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

type AwaitingReason = 'AwaitingWitness' | 'ReportNotAttributed';

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

  awaiting(block: Block, missing: readonly string[], reason: AwaitingReason): Promise<void> {
    return this.#say(block, awaitingWords(block, missing), reason);
  }

  /** Its node is there, and something lives in it. */
  used(block: Block, uses: readonly string[]): Promise<void> {
    return this.#say(block, usedBlockWords(block, uses), 'AwaitingWitness');
  }

  async #say(block: Block, message: string, reason: AwaitingReason): Promise<void> {
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
    const fields = { reason, node: block.nodeName, block: cidr, pool: block.pool };
    this.#o.log.warn(fields, `${cidr}: ${message}`);
    this.#event(block, 'Warning', reason, message);
  }

  #event(block: Block, type: 'Normal' | 'Warning', reason: Reason, message: string): void {
    const object = { apiVersion, kind: 'NodeBlock', name: block.name, uid: block.uid };
    this.#o.events.record({ object, type, reason, message });
  }
}
