import type { Clock } from '../base/clock.ts';
import type { Block } from '../model/node-block.ts';

/**
 * How long blocks have rested: what earlier leaders wrote into each, and what this one
 * has watched itself since it leads, by its monotonic clock. A wrong clock on any
 * machine changes nothing, and what was not written down when a leader went only makes
 * the cool-down longer.
 */
interface RestCounterOptions {
  clock: Pick<Clock, 'monotonicMs'>;
  /** The term of leading that this replica is in; another one begins to watch anew. */
  term(): object | undefined;
}

interface Watch {
  term: object | undefined;
  uid: string;
  coolingSinceMs: number;
  sinceMs: number;
  /** What was written when the watch began. */
  writtenSeconds: number;
}

export class RestCounter {
  readonly #o: RestCounterOptions;
  readonly #watches = new Map<string, Watch>();

  constructor(options: RestCounterOptions) {
    this.#o = options;
  }

  /** Seconds in all; the first call for a cooling block begins its watch. */
  seconds(block: Block): number {
    const { name, uid, coolingSinceMs, restedSeconds = 0 } = block;
    const nowMs = this.#o.clock.monotonicMs();
    const term = this.#o.term();
    let watch = this.#watches.get(name);
    const isSame =
      watch?.uid === uid && watch.coolingSinceMs === coolingSinceMs && watch.term === term;
    if (watch === undefined || !isSame) {
      watch = { term, uid, coolingSinceMs, sinceMs: nowMs, writtenSeconds: restedSeconds };
      this.#watches.set(name, watch);
    }
    return watch.writtenSeconds + (nowMs - watch.sinceMs) / 1000;
  }

  /** It cools no more; if it ever does again, that is another cool-down. */
  forget(name: string): void {
    this.#watches.delete(name);
  }
}

/** How often the sum is written: a fifth of what is waited for, and about once a minute in the first hours. */
export function writeEverySeconds(waitedForSeconds: number): number {
  return Math.max(1, Math.min(60, waitedForSeconds / 5), waitedForSeconds / 200);
}
