import { parsePrefix } from '../net/prefix.ts';
import type { PlannedBlock } from '../plan/allocation-plan.ts';
import { sourceNames } from '../plan/holdings.ts';
import { type PoolCandidate, poolCandidates } from '../plan/pool-candidates.ts';
import type { Register } from '../plan/register.ts';

/** Why a node gets a block, in a few words. `register` is what the plan left behind. */
export function whyBlock(register: Register): (nodeName: string, block: PlannedBlock) => string {
  const candidatesFor = poolCandidates(register);
  return (nodeName, block) => {
    const recorded = recordsOf(register, nodeName, block.cidr).map((source) => sourceNames[source]);
    if (block.action === 'adopt') return `held by ${recorded.join(', ')}`;
    if (block.action === 'keep') {
      return block.pool === '' ? `from ${recorded[0] ?? 'its records'}` : 'registered';
    }
    const node = register.nodes.get(nodeName);
    return node === undefined ? '' : whyPool(candidatesFor(node), block.pool);
  };
}

function recordsOf(register: Register, nodeName: string, cidr: string) {
  const prefix = parsePrefix(cidr);
  if (prefix === undefined) return [];
  return [...register.holdingsOf(nodeName).bySource]
    .filter(([, held]) => held[prefix.family].some((other) => other.equals(prefix)))
    .map(([source]) => source);
}

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
