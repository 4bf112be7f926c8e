import type { PoolCandidate } from './pool-candidates.ts';

/** Why this pool and not another: what put it before the rest, and who was passed over. */
export function whyPool(candidates: readonly PoolCandidate[], name: string): string {
  const selecting = candidates.filter((candidate) => candidate.isSelecting);
  const at = selecting.findIndex((candidate) => candidate.pool === name);
  const chosen = selecting[at];
  if (chosen === undefined) return '';
  const passed = selecting.slice(0, at).map((better) => `${better.pool}: ${obstacleWord(better)}`);
  const [next] = selecting.slice(at + 1);
  const reason =
    next === undefined
      ? selecting.length === 1
        ? 'the only pool that selects it'
        : 'the last pool that selects it'
      : chosen.priority !== next.priority
        ? `priority ${chosen.priority} before ${next.pool} with ${next.priority}`
        : chosen.specificity !== next.specificity
          ? `a more specific selector than ${next.pool}`
          : `by name before ${next.pool}`;
  return passed.length === 0 ? reason : `${reason}; ${passed.join(', ')}`;
}

/** A better pool that did not serve: held up, or without the families together. */
function obstacleWord({ obstacle, families }: PoolCandidate): string {
  if (obstacle !== undefined) return obstacle.reason;
  return families.some(({ free }) => free === 0) ? 'PoolExhausted' : 'FamilyNotServed';
}
