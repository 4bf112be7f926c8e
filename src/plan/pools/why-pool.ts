import { listNames } from '../../base/count-text.ts';
import type { PoolCandidate } from './pool-candidates.ts';

/** Why this pool and not another: what put it before the rest, and who was passed over. */
export function whyPool(candidates: Iterable<PoolCandidate>, name: string): string {
  const passed: string[] = [];
  let chosen: PoolCandidate | undefined;
  let next: PoolCandidate | undefined;
  for (const candidate of candidates) {
    if (!candidate.isSelecting) continue;
    if (chosen !== undefined) {
      next = candidate;
      break;
    }
    if (candidate.pool === name) chosen = candidate;
    else passed.push(`${candidate.pool}: ${obstacleWord(candidate)}`);
  }
  if (chosen === undefined) return '';
  const reason =
    next === undefined
      ? passed.length === 0
        ? 'the only pool that selects it'
        : 'the last pool that selects it'
      : chosen.priority !== next.priority
        ? `priority ${chosen.priority} before ${next.pool} with ${next.priority}`
        : chosen.specificity !== next.specificity
          ? `a more specific selector than ${next.pool}`
          : `by name before ${next.pool}`;
  return passed.length === 0 ? reason : `${reason}; ${listNames(passed)}`;
}

/** A better pool that did not serve: held up, or without the families together. */
function obstacleWord({ obstacle, families }: PoolCandidate): string {
  if (obstacle !== undefined) return obstacle.reason;
  return families.some(({ free }) => free === 0) ? 'PoolExhausted' : 'FamilyNotServed';
}
