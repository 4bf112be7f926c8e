import { Leadership, type LeadershipOptions } from '../kube/lease.ts';
import type { LeaseSpec } from '../kube/lease-object.ts';

/** One time of leading, from winning the lease to losing it. */
export interface Term {
  readonly sinceMs: number;
  /** The caches are synced: keys are worked on, and what nodes hold is adopted. */
  isServing: boolean;
  /** Nodes and blocks are known as the store has them now: what nodes hold may be adopted. */
  mayAdopt: boolean;
  /** Everything that nodes hold is adopted: new blocks may be cut. */
  hasAdopted: boolean;
  /** Why the store may have been restored from a backup, or was away, before this term began. */
  readonly doubt: string | undefined;
  /** What has to come before new blocks are cut, for the nodes that wait; undefined: nothing special. */
  waitsFor: string | undefined;
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
  readonly #clock: NonNullable<LeadershipOptions['clock']>;
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

  get mayAdopt(): boolean {
    return this.isLeading && this.#current?.mayAdopt === true;
  }

  /** It leads and has adopted everything: it may cut new blocks, and judge the cluster. */
  get mayAssign(): boolean {
    return this.isLeading && this.#current?.hasAdopted === true;
  }

  /** Why a leader cuts no new blocks yet, where a node's condition should say so. */
  get waitsFor(): string | undefined {
    return this.#current?.waitsFor;
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
    const doubt = doubtfulLease(this.#leadership.found, this.#clock.wallMs());
    const term: Term = {
      sinceMs: this.#clock.monotonicMs(),
      isServing: false,
      mayAdopt: false,
      hasAdopted: false,
      doubt,
      waitsFor: undefined,
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

/** A crash, and a take-over after it, are seconds away from the last renewal. */
const longestTakeOverMs = 60_000;
/** Clocks of two machines differ by this much without anything being wrong. */
const clockSkewMs = 5_000;

/**
 * A replica that has just started remembers nothing. What it has is the Lease: one
 * that nobody released, and that is as old as no take-over is, comes from a backup or
 * from an outage that nobody watched.
 */
function doubtfulLease(found: LeaseSpec | undefined, nowMs: number): string | undefined {
  if (found?.holderIdentity == null || found.holderIdentity === '') return undefined;
  const ageMs = nowMs - Date.parse(found.renewTime ?? '');
  if (Number.isNaN(ageMs)) return undefined;
  if (ageMs < -clockSkewMs) return `the Lease was renewed in the future, at ${found.renewTime}`;
  if (ageMs > longestTakeOverMs) return `the Lease was last renewed at ${found.renewTime}`;
  return undefined;
}
