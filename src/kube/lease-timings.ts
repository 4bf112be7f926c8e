import { CadastreError } from '../base/errors.ts';

export interface LeaseTimings {
  /** How long others wait after the last renewal before they take over; longer with slow answers. */
  leaseDurationSeconds: number;
  /** How long after its last renewal the leader still trusts itself; longer with slow answers. */
  renewDeadlineSeconds: number;
  /** How often the leader renews, and how often a standby without a watch looks. */
  retryPeriodSeconds: number;
}

/**
 * Short, because no allocation's safety depends on the lease: a NodeBlock is
 * created once, whoever leads. It only keeps two operators from doing the same
 * work, so a quick take-over costs nothing but a few requests.
 */
export const defaultTimings: LeaseTimings = {
  leaseDurationSeconds: 5,
  renewDeadlineSeconds: 3,
  retryPeriodSeconds: 1,
};

/** client-go's jitter factor: a renewal must fit into the deadline with it. */
const jitter = 1.2;

export function checkTimings(timings: LeaseTimings): void {
  const { leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds } = timings;
  const given = `lease duration ${leaseDurationSeconds} s, renew deadline ${renewDeadlineSeconds} s, retry period ${retryPeriodSeconds} s`;
  const refuse = (what: string) =>
    new CadastreError('BAD_FLAG', `The leader election timings cannot work (${given}): ${what}.`, {
      remedy: 'The defaults are 5 s, 3 s and 1 s; client-go uses 15 s, 10 s and 2 s.',
    });
  for (const value of [leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds]) {
    if (!Number.isFinite(value) || value <= 0) throw refuse(`${value} is not a time above zero`);
  }
  // The API stores whole seconds; half a second would reach others as zero.
  if (!Number.isInteger(leaseDurationSeconds)) {
    throw refuse('the lease duration must be whole seconds');
  }
  if (leaseDurationSeconds <= renewDeadlineSeconds) {
    throw refuse('the lease duration must be longer than the renew deadline');
  }
  if (renewDeadlineSeconds <= retryPeriodSeconds * jitter) {
    throw refuse(`the renew deadline must be longer than ${jitter} times the retry period`);
  }
}
