import { type Pool, releaseByTimeDefaultSeconds } from '../../model/ip-pool.ts';
import type { Block } from '../../model/node-block.ts';
import type { NodeReport } from '../../model/node-report.ts';

/** After how long time alone releases a block; or why it never does. */
export type TimeLimit = { kind: 'after'; seconds: number } | { kind: 'never'; why: string };

/**
 * A node without an agent can neither give a block back nor fall silent: there the
 * pool's policy counts as it is now. An agent falls silent after half of the number
 * that it was told; so the number in the block counts, and only if the agent has
 * reported that half.
 */
export function timeLimit(
  block: Block,
  pool: Pool | undefined,
  report: NodeReport | undefined,
): TimeLimit {
  if (report === undefined) {
    const policy = pool === undefined ? block.releaseByTimeSeconds : pool.releaseByTimeSeconds;
    const seconds = policy ?? releaseByTimeDefaultSeconds;
    if (seconds > 0) return { kind: 'after', seconds };
    return { kind: 'never', why: 'releaseByTimeSeconds of its pool is 0' };
  }
  const seconds = block.releaseByTimeSeconds ?? 0;
  if (seconds === 0) return { kind: 'never', why: 'its pool has no releaseByTimeSeconds' };
  const promise =
    report.nodeUid === block.nodeUid
      ? report.silentAfter?.find(({ uid }) => uid === block.uid)
      : undefined;
  if (promise !== undefined && promise.seconds > 0 && promise.seconds * 2 <= seconds) {
    return { kind: 'after', seconds };
  }
  return {
    kind: 'never',
    why: `its agent has not reported that it falls silent after half of ${seconds} s`,
  };
}
