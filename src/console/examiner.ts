/**
 * Asks the doctor's judgement again whenever something changed, but never so
 * often that judging is what the process does: a round that took long is
 * followed by a long rest.
 */
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Evidence } from '../plan/doctor/evidence.ts';
import { judge } from '../plan/doctor/judge.ts';
import { type Action, whatIf } from '../plan/doctor/what-if.ts';
import { findingRow } from './evidence.ts';
import type { ConsoleState } from './state.ts';
import type { WhatIfReply } from './what-if-answer.ts';

export interface ExaminerOptions {
  evidence: () => Evidence;
  state: ConsoleState;
  clock: Clock;
  log: Log;
}

const leastRestMs = 500;
/** Judging takes at most this part of the time. */
const share = 1 / 60;

export class Examiner {
  readonly #o: ExaminerOptions;
  #timer: NodeJS.Timeout | undefined;
  #restUntilMs = 0;

  constructor(options: ExaminerOptions) {
    this.#o = options;
  }

  touch(): void {
    const { clock } = this.#o;
    const waitMs = Math.max(leastRestMs, this.#restUntilMs - clock.monotonicMs());
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#examine();
    }, waitMs);
    this.#timer.unref();
  }

  ask(action: Action): WhatIfReply {
    return whatIf(this.#o.evidence(), action);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #examine(): void {
    const { evidence, state, clock, log } = this.#o;
    const beganMs = clock.monotonicMs();
    try {
      const rows = judge(evidence()).map(findingRow);
      state.putAll('finding', new Map(rows.map((row) => [row.id, row])));
    } catch (error) {
      log.error({ error: describeError(error) }, 'the findings could not be worked out');
    }
    const endedMs = clock.monotonicMs();
    this.#restUntilMs = endedMs + (endedMs - beganMs) / share;
  }
}
