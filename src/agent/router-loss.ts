/**
 * How long this node has been without a session to any router: the one place that knows, from
 * one second to the next. What an earlier run of the agent saw comes from contact-file.
 *
 * The end of a session is not the beginning of the loss. A process that was stopped, or a
 * machine that was paused, finds its sessions established, reads what routers sent before
 * they gave up, and then loses and regains them within a moment. So both clocks are read
 * every second while a session is up. After a gap sessions are in doubt: they count as
 * proof again when they have outlived the hold time. Of the two clocks the one that saw
 * more time pass is believed: a paused machine stops the monotonic one. (A wall clock that is
 * set forward raises doubt as well, which running sessions then dispel.)
 */
import type { Clock } from '../base/clock.ts';
import type { LastContact } from './contact-file.ts';

interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How often `look` is called at least. */
export const lookEveryMs = 1_000;
/** More than a busy machine keeps a timer waiting; less than any hold time that routers take. */
const gapMs = 2_500;

export class RouterLoss {
  readonly #clock: Clock;
  /** When a session was last established for certain; before the first one: when counting began. */
  #lastSure: Moment;
  #lastLook: Moment;
  #inDoubtUntilMs = Number.NEGATIVE_INFINITY;
  #hasBeenUp = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastSure = this.#lastLook = this.#now();
  }

  /** An earlier run saw a session then; or none, but the API server has confirmed the blocks then. */
  resume({ upMs, confirmedMs }: LastContact): void {
    this.#hasBeenUp = upMs !== undefined;
    const fromMs = upMs ?? confirmedMs;
    if (fromMs === undefined) return;
    const { monotonicMs, wallMs } = this.#now();
    this.#lastSure = { monotonicMs: fromMs, wallMs: wallMs - (monotonicMs - fromMs) };
  }

  /** Whether there was a session, in this run or the one before. */
  get hasBeenUp(): boolean {
    return this.#hasBeenUp;
  }

  /** Whether sessions that seem to be established may have ended while this process was stopped. */
  get isInDoubt(): boolean {
    return this.#clock.monotonicMs() < this.#inDoubtUntilMs;
  }

  /** Since a session was last established for certain. */
  get lostMs(): number {
    return elapsedMs(this.#lastSure, this.#now());
  }

  /** Before whatever happened is acted upon: `isUp` is how it was until now. */
  look(isUp: boolean, holdSeconds: number): void {
    const now = this.#now();
    if (elapsedMs(this.#lastLook, now) > gapMs) {
      this.#inDoubtUntilMs = now.monotonicMs + holdSeconds * 1000 + gapMs;
    }
    this.#lastLook = now;
    if (isUp && !this.isInDoubt) this.#lastSure = now;
  }

  /** A session has just become established: a router has answered now. */
  established(): void {
    this.#lastSure = this.#lastLook = this.#now();
    this.#inDoubtUntilMs = Number.NEGATIVE_INFINITY;
    this.#hasBeenUp = true;
  }

  #now(): Moment {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
  }
}

function elapsedMs(from: Moment, to: Moment): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.wallMs - from.wallMs);
}
