import type { LeaseTimings } from './lease-timings.ts';

/**
 * How the times of a lease follow an API server that answers slowly.
 *
 * Renewals are sent one after the other, and a renewal counts from when it was sent. So a
 * leader has to trust itself for two answers in a row, and others have to wait for longer
 * than that: the holder writes that time into the Lease (`leaseDurationSeconds`), and
 * standbys go by what is written. As long as answers are quick it is the configured one.
 *
 * Only answers are measured. A request that timed out may have met a dead connection, so
 * it does not make the lease longer; the next one is given twice the time.
 */
export class LeasePace {
  readonly #timings: LeaseTimings;
  /** The longest of the latest answers. */
  #answerMs = 0;
  #timeouts = 0;

  constructor(timings: LeaseTimings) {
    this.#timings = timings;
  }

  /** `ms`: from sending the request to its answer, whatever it was. */
  answered(ms: number): void {
    this.#timeouts = 0;
    this.#answerMs = Math.max(ms, this.#answerMs * forgetting);
  }

  timedOut(): void {
    this.#timeouts += 1;
  }

  /** What the next write says: how long others wait after it before they take over. */
  durationSeconds(): number {
    const { leaseDurationSeconds, retryPeriodSeconds } = this.#timings;
    const trustedSeconds = (answers * this.#answerMs) / 1_000 + jitter * retryPeriodSeconds;
    return Math.max(leaseDurationSeconds, Math.ceil(trustedSeconds / this.#trustedPart));
  }

  /** How long after such a write was sent its holder trusts itself. */
  trustedMs(durationSeconds: number): number {
    return durationSeconds * 1_000 * this.#trustedPart;
  }

  /**
   * How long a request may take. A leader's takes half of what is left of its lease, so
   * that another fits in; a candidate has nothing to lose by waiting.
   */
  patienceMs(leftMs: number): number {
    const { renewDeadlineSeconds, retryPeriodSeconds } = this.#timings;
    const deadlineMs = renewDeadlineSeconds * 1_000;
    const usualMs =
      leftMs > 0 ? Math.max(200, retryPeriodSeconds * 500, leftMs / 2) : 2 * deadlineMs;
    const patientMs = Math.max(usualMs, 2 * this.#answerMs) * 2 ** Math.min(this.#timeouts, 10);
    return Math.ceil(Math.min(patientMs, Math.max(longestPatienceMs, 2 * deadlineMs)));
  }

  get #trustedPart(): number {
    return this.#timings.renewDeadlineSeconds / this.#timings.leaseDurationSeconds;
  }
}

/** An answer that was slow once counts for about a minute: 0.95 to the power of 60 is 5 %. */
const forgetting = 0.95;
/** Two in a row, and half of one more for answers that take turns to be slower. */
const answers = 2.5;
/** client-go's jitter factor, as in the check of the timings. */
const jitter = 1.2;
/** Who answers later than this is away. */
const longestPatienceMs = 15_000;
