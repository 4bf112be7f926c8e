import type { Reason } from '../../model/reasons.ts';

/** Why a pool serves nothing, with the other's name. */
export interface PoolProblem {
  reason: Reason;
  detail: string;
}
