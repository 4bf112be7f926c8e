/**
 * Asks the doctor's judgement again whenever something changed that it would see,
 * but never so often that judging is what the process does: a round that took long
 * is followed by a long rest. Some faults come by waiting (a block that cools for
 * too long); for them it looks now and then without being told.
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
const lookAgainMs = 300_000;

export class Examiner {
  readonly #o: ExaminerOptions;
  #timer: NodeJS.Timeout | undefined;
  #isTouched = false;
  #restUntilMs = 0;

  constructor(options: ExaminerOptions) {
    this.#o = options;
  }

  touch(): void {
    if (this.#isTouched) return;
    this.#isTouched = true;
    const { clock } = this.#o;
    this.#after(Math.max(leastRestMs, this.#restUntilMs - clock.monotonicMs()));
  }

  ask(action: Action): WhatIfReply {
    return whatIf(this.#o.evidence(), action);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #after(waitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#examine(), waitMs);
    this.#timer.unref();
  }

  #examine(): void {
    this.#isTouched = false;
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
    this.#after(lookAgainMs);
  }
}
