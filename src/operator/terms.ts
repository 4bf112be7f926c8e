import { Leadership, type LeadershipOptions } from '../kube/lease.ts';

/** One time of leading, from winning the lease to losing it. */
export interface Term {
  readonly sinceMs: number;
  /** The caches are synced: keys are worked on, and what nodes hold is adopted. */
  isServing: boolean;
  /** Everything that nodes hold is adopted: new blocks may be cut. */
  hasAdopted: boolean;
  isOver: boolean;
}

/** This replica does not lead (any more); what it was about to write is dropped. */
class NotLeading extends Error {}

/**
 * What this replica may do at this moment. Asked before every single write, and
 * judged by monotonic time (kube/lease): a process that was frozen past its lease
 * knows on its first instruction, and writes nothing.
 */
export class Terms {
  /** Set once, before `run`. */
  onBegin: ((term: Term) => void) | undefined;
  onEnd: ((why: string) => void) | undefined;
  readonly #leadership: Leadership;
  readonly #clock: { monotonicMs(): number };
  #current: Term | undefined;

  constructor(
    options: Omit<LeadershipOptions, 'onAcquired' | 'onLost' | 'clock'> & {
      clock: NonNullable<LeadershipOptions['clock']>;
    },
  ) {
    this.#clock = options.clock;
    this.#leadership = new Leadership({
      ...options,
      onAcquired: () => this.#begin(),
      onLost: (why) => this.#end(why),
    });
  }

  get isLeading(): boolean {
    return this.#leadership.isLeader();
  }

  standing(): ReturnType<Leadership['standing']> {
    return this.#leadership.standing();
  }

  get current(): Term | undefined {
    return this.#current;
  }

  /** It leads and has adopted everything: it may cut new blocks, and judge the cluster. */
  get mayAssign(): boolean {
    return this.isLeading && this.#current?.hasAdopted === true;
  }

  assertLeading(): void {
    if (!this.isLeading) throw new NotLeading('this replica does not lead');
  }

  /** Runs the work of a key if this replica leads; drops it when the lease is lost on the way. */
  async whileLeading(work: () => Promise<unknown>): Promise<void> {
    if (!this.isLeading || this.#current?.isServing !== true) return;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof NotLeading)) throw error;
    }
  }

  tryOnce(): Promise<boolean> {
    return this.#leadership.tryOnce();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#leadership.run(signal);
  }

  release(): Promise<void> {
    return this.#leadership.release();
  }

  #begin(): void {
    const term = {
      sinceMs: this.#clock.monotonicMs(),
      isServing: false,
      hasAdopted: false,
      isOver: false,
    };
    this.#current = term;
    this.onBegin?.(term);
  }

  #end(why: string): void {
    if (this.#current !== undefined) this.#current.isOver = true;
    this.#current = undefined;
    this.onEnd?.(why);
  }
}
