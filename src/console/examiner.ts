/**
 * Asks the doctor's judgement again whenever something changed that it would see,
 * but never so often that judging is what the process does: a round that took long
 * is followed by a long pause. Some faults come by waiting (a cool-down that
 * never ends); for them it looks now and then unasked.
 *
 * A finding counts when two rounds in a row have made it: between a block and its
 * route there is always a moment in which they differ. After a start nothing is
 * concluded before all caches have synced, and for some seconds more a missing
 * route is no news: sessions are only being set up.
 */
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Address } from '../net/address.ts';
import { causesOf } from '../plan/doctor/causes.ts';
import { DriftRecord } from '../plan/doctor/drift.ts';
import type { Evidence } from '../plan/doctor/evidence.ts';
import type { DoctorFinding } from '../plan/doctor/finding.ts';
import { judgeSurvey } from '../plan/doctor/judge.ts';
import { poolRooms } from '../plan/doctor/judge-pools.ts';
import { survey } from '../plan/doctor/survey.ts';
import { truthTable } from '../plan/doctor/truth-table.ts';
import { type Action, whatIf } from '../plan/doctor/what-if.ts';
import type { WhatIfAnswer } from '../plan/doctor/what-if-answer.ts';
import { type WaysAnswer, waysTo } from '../plan/ways/survey-ways.ts';
import { findingId, findingRow } from './make-rows.ts';
import type { ConsoleState } from './state.ts';
import { type StatedRows, statedRows } from './stated-rows.ts';

export interface ExaminerOptions {
  evidence: () => Evidence;
  /** Why not everything is known yet; undefined: it is. */
  notReady: () => string | undefined;
  /** Sessions come up within this time of a start. */
  settleMs?: number | undefined;
  state: ConsoleState;
  clock: Clock;
  log: Log;
}

const leastPauseMs = 500;
/** Judging takes at most this part of the time. */
const share = 1 / 60;
/** The first rounds are slow because the program is still being compiled, and must not delay others. */
const warmUpRounds = 5;
const lookAgainMs = 300_000;
const usualSettleMs = 10_000;

export class Examiner {
  readonly #o: ExaminerOptions;
  readonly #record = new DriftRecord();
  readonly #startedMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isTouched = false;
  #pauseUntilMs = 0;
  #rounds = 0;
  #stated: StatedRows = { pools: new Map(), blocks: new Map() };

  constructor(options: ExaminerOptions) {
    this.#o = options;
    this.#startedMs = options.clock.monotonicMs();
    options.state.put('judgement', '', { isSettled: false, why: options.notReady() ?? '' });
  }

  touch(): void {
    if (this.#isTouched) return;
    this.#isTouched = true;
    const { clock } = this.#o;
    this.#after(Math.max(leastPauseMs, this.#pauseUntilMs - clock.monotonicMs()));
  }

  ask(action: Action): WhatIfAnswer {
    return whatIf(this.#o.evidence(), action);
  }

  /** Which way packets take to an address. */
  ways(to: Address): WaysAnswer {
    return waysTo(survey(this.#o.evidence()), to);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #after(waitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.examine(), waitMs);
    this.#timer.unref();
  }

  /** One round, now. */
  examine(): void {
    const { notReady, state, clock, log } = this.#o;
    this.#isTouched = false;
    const why = notReady();
    if (why !== undefined) {
      state.put('judgement', '', { isSettled: false, why });
      this.touch();
      return;
    }
    const beganMs = clock.monotonicMs();
    try {
      this.#judge();
    } catch (error) {
      log.error({ error: describeError(error) }, 'comparing the sources failed; trying again');
    }
    const endedMs = clock.monotonicMs();
    this.#rounds += 1;
    const isWarm = this.#rounds > warmUpRounds;
    this.#pauseUntilMs = endedMs + (isWarm ? (endedMs - beganMs) / share : 0);
    if (this.#record.hasUnconfirmed || this.#isSettling) this.touch();
    else this.#after(lookAgainMs);
  }

  get #isSettling(): boolean {
    const { clock, settleMs = usualSettleMs } = this.#o;
    return clock.monotonicMs() - this.#startedMs < settleMs;
  }

  #judge(): void {
    const { evidence, state } = this.#o;
    const surveyed = survey(evidence());
    const found = judgeSurvey(surveyed);
    this.#record.take(found);
    const waits = this.#isSettling && found.some(isAboutMissingRoute);
    const standing = this.#record
      .standing()
      .filter((finding) => !waits || !isAboutMissingRoute(finding));
    const rows = standing.map(findingRow);
    state.putAll('finding', new Map(rows.map((row) => [row.id, row])));
    const causes = causesOf(surveyed, standing).map((cause, at) => ({
      ...cause,
      at,
      findings: cause.findings.map(findingId),
    }));
    state.putAll('cause', new Map(causes.map((row) => [row.id, row])));
    this.#putStated(statedRows(surveyed));
    const rooms = poolRooms(surveyed).map((room, at) => ({ ...room, at }));
    state.putAll('room', new Map(rooms.map((row) => [`${row.pool} ${row.family}`, row])));
    const { columns, rows: nodes } = truthTable(surveyed, standing);
    state.putAll('column', new Map(columns.map((column, at) => [column.id, { ...column, at }])));
    state.putAll('truth', new Map(nodes.map((row) => [row.node, row])));
    const why = waits ? 'sessions are being set up' : '';
    state.put('judgement', '', { isSettled: !waits, why });
  }

  /** Beside the rows that the feed makes of objects, which are never touched here. */
  #putStated(rows: StatedRows): void {
    const { state } = this.#o;
    const before = this.#stated;
    this.#stated = rows;
    for (const key of before.pools.keys()) if (!rows.pools.has(key)) state.remove('pool', key);
    for (const key of before.blocks.keys()) if (!rows.blocks.has(key)) state.remove('block', key);
    for (const [key, row] of rows.pools) state.put('pool', key, row);
    for (const [key, row] of rows.blocks) state.put('block', key, row);
  }
}

function isAboutMissingRoute({ reason }: DoctorFinding): boolean {
  return reason === 'Blackhole' || reason === 'NotHeld' || reason === 'NotAnnounced';
}
