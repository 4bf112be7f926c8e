import type { Clock } from '../base/clock.ts';
import type { DrainStep, ReportedDrain } from '../model/node-report-status.ts';

/** How many routers have a session, and how many have acknowledged all that was sent. */
export interface Delivery {
  routers: number;
  acknowledged: number;
  /** Prefixes advertised to them, and those to which they advertise another path to us. */
  prefixes: number;
  elsewhere: number;
}

export const nothingDelivered: Delivery = {
  routers: 0,
  acknowledged: 0,
  prefixes: 0,
  elsewhere: 0,
};

export interface DrainMemory {
  steps: ReportedDrain['steps'];
  /** The routes are being taken back, or have been. */
  isLeaving: boolean;
}

/** A router that does not acknowledge within this time is not waited for: its session will end. */
const patienceMs = 10_000;

/**
 * Leaving, step by step (RFC 8326):
 *
 *   Asked             the Node carries the annotation
 *   GracefulShutdown  the routers are asked to prefer every other path (RFC 8326)
 *   Acknowledged      all of them have it, by the word of their TCP; the grace begins
 *   Moved             for how many prefixes they now use another path, by their own advertisements:
 *                     a router advertises the path that it uses itself, unless it is the peer's
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
  #isTold = false;
  #isLeaving = false;

  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  /** How far an earlier run had come. One that had not begun to leave begins anew. */
  resume({ steps, isLeaving }: DrainMemory): void {
    if (!isLeaving) return;
    this.#steps = steps;
    this.#isTold = this.#isLeaving = true;
  }

  /** For the disk, before anybody hears of it. */
  get memory(): DrainMemory {
    return { steps: this.#steps, isLeaving: this.#isLeaving };
  }

  /** What is to be declared now; `delivery` is of what was declared last. */
  next(isAsked: boolean, delivery: Delivery): { isGraceful: boolean; isLeaving: boolean } {
    if (!isAsked) {
      this.#steps = [];
      this.#acknowledgedMs = undefined;
      this.#isTold = this.#isLeaving = false;
      return { isGraceful: false, isLeaving: false };
    }
    const nowMs = this.#clock.monotonicMs();
    if (this.#steps.length === 0) {
      this.#askedMs = nowMs;
      this.#note('Asked', 'the node is to be drained');
    } else if (this.#isLeaving) {
      if (isComplete(delivery)) this.#note('Withdrawn', `by ${wordsOf(delivery)}`);
    } else if (this.#isTold) {
      this.#note('GracefulShutdown', 'the routers are asked to prefer every other path');
      const isOutOfPatience = nowMs - this.#askedMs >= patienceMs;
      if (this.#acknowledgedMs === undefined && (isComplete(delivery) || isOutOfPatience)) {
        this.#acknowledgedMs = nowMs;
        this.#note('Acknowledged', `by ${wordsOf(delivery)}`);
      }
      const sinceMs = this.#acknowledgedMs ?? Number.POSITIVE_INFINITY;
      this.#isLeaving = nowMs - sinceMs >= this.#graceMs;
      if (this.#isLeaving) this.#note('Moved', movedWords(delivery));
    }
    this.#isTold = true;
    return { isGraceful: true, isLeaving: this.#isLeaving };
  }

  /** Whether it has to be looked at again soon. */
  get isUnderWay(): boolean {
    return this.#steps.length > 0 && this.#steps.at(-1)?.step !== 'Withdrawn';
  }

  get steps(): ReportedDrain['steps'] {
    return this.#steps;
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
  return `the routers use another path to ${all} ${prefixes} prefix${prefixes === 1 ? '' : 'es'}`;
}

const isComplete = ({ routers, acknowledged }: Delivery) => acknowledged >= routers;

const wordsOf = ({ routers, acknowledged }: Delivery) =>
  `${acknowledged} of ${routers} router${routers === 1 ? '' : 's'}`;
