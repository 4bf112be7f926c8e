import type { Clock } from '../base/clock.ts';
import { plural } from '../base/count-text.ts';
import type { DrainStep, ReportedDrain } from '../model/node-report-status.ts';

/** How many routers have a session, and how many have acknowledged all that was sent. */
export interface Delivery {
  routers: number;
  acknowledged: number;
  /** Prefixes advertised to them, and those to which they advertise another path to us. */
  prefixes: number;
  elsewhere: number;
}

export interface DrainProgress {
  steps: ReportedDrain['steps'];
  /** The routes are being taken back, or have been. */
  isLeaving: boolean;
}

/** What is to be declared: all as ever, all with GRACEFUL_SHUTDOWN, or nothing any more. */
export type DrainPhase = 'announce' | 'graceful' | 'withdraw';

interface DrainRequest {
  /** Why and what, in words; undefined: nobody asks for it. */
  readonly asked: string | undefined;
  /** Of what was declared last. */
  readonly delivery: () => Delivery;
  /** Routes that stay although the others go, each with its reason. */
  readonly kept?: readonly string[];
  /** The grace is over, and yet it is to wait. */
  readonly isToWait?: boolean;
}

/** A router that does not acknowledge within this time is not waited for: its session will end. */
const patienceMs = 10_000;

/**
 * Withdrawing some of a node's routes, step by step (RFC 8326):
 *
 *   Asked             there is a sign on the Node; its detail says which
 *   GracefulShutdown  the routers are asked to prefer every other path (RFC 8326)
 *   Acknowledged      all of them have it (acknowledged by TCP); the grace begins
 *   Moved             for how many prefixes they now use another path, by their own advertisements:
 *                     a router advertises the path that it uses itself, unless it is the peer's
 *   Kept              what is not withdrawn yet, because nobody else announces it
 *   Withdrawn         everything is taken back, and they have that, too
 *
 * Nothing is withdrawn before every router has had the grace to move its traffic.
 * A node that has left stays away when its agent starts again: it would draw the
 * traffic back to a machine that somebody is working on.
 */
export class Drain {
  readonly #clock: Clock;
  readonly #graceMs: number;
  #steps: ReportedDrain['steps'] = [];
  #askedMs = 0;
  #acknowledgedMs: number | undefined;
  #leavingMs = Number.NEGATIVE_INFINITY;
  #isGraceful = false;
  #isLeaving = false;
  #isKeeping = false;

  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  /** How far an earlier run had come. One that had not begun to leave begins anew. */
  resume({ steps, isLeaving }: DrainProgress): void {
    if (!isLeaving) return;
    this.#steps = steps;
    this.#isGraceful = this.#isLeaving = true;
  }

  get progress(): DrainProgress {
    return { steps: this.#steps, isLeaving: this.#isLeaving };
  }

  next({ asked, delivery, kept = [], isToWait = false }: DrainRequest): DrainPhase {
    if (asked === undefined) {
      this.#steps = [];
      this.#acknowledgedMs = undefined;
      this.#isGraceful = this.#isLeaving = this.#isKeeping = false;
      return 'announce';
    }
    const nowMs = this.#clock.monotonicMs();
    const [first, ...later] = this.#steps;
    // One sign may go while another one stays, or comes.
    if (first !== undefined && first.detail !== asked) {
      this.#steps = [{ ...first, detail: asked }, ...later];
    }
    if (first === undefined) {
      this.#askedMs = nowMs;
      this.#note('Asked', asked);
    } else if (this.#isLeaving) {
      this.#settle(kept, delivery());
    } else if (this.#isGraceful) {
      this.#note('GracefulShutdown', 'the routers are asked to prefer every other path');
      const seen = delivery();
      const isOutOfPatience = nowMs - this.#askedMs >= patienceMs;
      if (this.#acknowledgedMs === undefined && (isComplete(seen) || isOutOfPatience)) {
        this.#acknowledgedMs = nowMs;
        this.#note('Acknowledged', `by ${wordsOf(seen)}`);
      }
      const sinceMs = this.#acknowledgedMs ?? Number.POSITIVE_INFINITY;
      this.#isLeaving = nowMs - sinceMs >= this.#graceMs && !isToWait;
      if (this.#isLeaving) {
        this.#leavingMs = nowMs;
        this.#note('Moved', movedWords(seen));
      }
    }
    this.#isGraceful = true;
    return this.phase;
  }

  get phase(): DrainPhase {
    if (this.#isLeaving) return 'withdraw';
    return this.#isGraceful ? 'graceful' : 'announce';
  }

  /** Whether it has to be looked at again soon. */
  get isUnderWay(): boolean {
    return this.#steps.length > 0 && !this.#isKeeping && !this.isWithdrawn;
  }

  /** The routers have acknowledged that everything is withdrawn. */
  get isWithdrawn(): boolean {
    return this.#isLeaving && this.#steps.at(-1)?.step === 'Withdrawn';
  }

  /** Since the withdrawal began. After a restart of the agent: for ever. */
  get leavingForMs(): number {
    return this.#isLeaving ? this.#clock.monotonicMs() - this.#leavingMs : 0;
  }

  get steps(): ReportedDrain['steps'] {
    return this.#steps;
  }

  /** It may go back and forth: what nobody else announces any more is announced again. */
  #settle(kept: readonly string[], delivery: Delivery): void {
    const wasKeeping = this.#isKeeping;
    this.#isKeeping = kept.length > 0;
    if (this.#isKeeping) {
      const detail = kept.join('; ');
      if (this.#steps.at(-1)?.detail === detail) return;
      this.#steps = this.#steps.filter(({ step }) => step !== 'Withdrawn' && step !== 'Kept');
      this.#note('Kept', detail);
    } else if (!wasKeeping && isComplete(delivery)) {
      // What was kept until now is only declared to be withdrawn after this round.
      this.#note('Withdrawn', `by ${wordsOf(delivery)}`);
    }
  }

  #note(step: DrainStep, detail: string): void {
    if (this.#steps.some((one) => one.step === step)) return;
    const at = new Date(this.#clock.wallMs()).toISOString();
    this.#steps = [...this.#steps, { step, at, detail }];
  }
}

/** Not waited for: a block has no other path, and some routers advertise nothing to their peers. */
function movedWords({ prefixes, elsewhere }: Delivery): string {
  if (prefixes === 0) return 'nothing was advertised to any router';
  if (elsewhere === 0) return 'no router advertises another path to the prefixes of this node';
  const all = prefixes === elsewhere ? 'all' : `${elsewhere} of`;
  return `the routers use another path to ${all} ${plural(prefixes, 'prefix', 'prefixes')}`;
}

const isComplete = ({ routers, acknowledged }: Delivery) => acknowledged >= routers;

const wordsOf = ({ routers, acknowledged }: Delivery) =>
  `${acknowledged} of ${plural(routers, 'router')}`;
