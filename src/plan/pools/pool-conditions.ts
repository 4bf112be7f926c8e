import type { Condition } from '../../model/object.ts';
import type { Reason } from '../../model/reasons.ts';
import type { PoolProblem } from './pool-problem.ts';

/** A reason, and what it says. */
type Verdict = readonly [reason: Reason, message: string];

/** What is to be said about a pool, be it of blocks or of Service addresses. */
export interface PoolVerdicts {
  problem: PoolProblem | undefined;
  /** Why it serves nobody new, though nothing is wrong with it. */
  closed: Verdict | undefined;
  ready: Verdict;
  full: Verdict | undefined;
  hasRoom: Verdict;
}

/** The conditions Ready, Exhausted and Conflict. `nowText` dates those that changed. */
export function poolConditions(
  { problem, closed, ready, full, hasRoom }: PoolVerdicts,
  observedGeneration: number,
  before: readonly Condition[] | undefined,
  nowText: string,
): Condition[] {
  const conflict: Verdict | undefined = problem && [problem.reason, problem.detail];
  const obstacle = conflict ?? closed;
  const condition = (type: string, isTrue: boolean, [reason, message]: Verdict) =>
    dated(
      { type, status: isTrue ? 'True' : 'False', reason, message, observedGeneration },
      before,
      nowText,
    );
  return [
    condition('Ready', obstacle === undefined, obstacle ?? ready),
    condition('Exhausted', full !== undefined, full ?? hasRoom),
    condition('Conflict', conflict !== undefined, conflict ?? ['NoConflict', 'overlaps nothing']),
  ];
}

/** A condition's time is when its status last changed, not when it was last looked at. */
export function dated(
  condition: Omit<Condition, 'lastTransitionTime'>,
  before: readonly Condition[] | undefined,
  nowText: string,
): Condition {
  const last = before?.find((other) => other.type === condition.type);
  const since = last?.status === condition.status ? last.lastTransitionTime : undefined;
  return { ...condition, lastTransitionTime: since ?? nowText };
}
