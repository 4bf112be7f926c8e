import { type Pace, usualAgentPace } from '../agent/agent-settings.ts';

/**
 * Up to some fifty nodes as in a cluster; of more each is the calmer, because they
 * share one process. What an agent does for one change costs about 5 µs for every
 * node of the cluster, and a change wakes all of them: with this rest they take at
 * most half a core, and not all at the same moment.
 */
export function paceOf(nodeCount: number, random: () => number): Partial<Pace> {
  const calm = Math.max(1, nodeCount / 20);
  const coalesceMs = Math.max(usualAgentPace.coalesceMs, nodeCount ** 2 / 100);
  return {
    coalesceMs: Math.round(coalesceMs * (0.5 + random())),
    lookAgainTicks: Math.round(usualAgentPace.lookAgainTicks * calm * (0.5 + random())),
    memoryEveryMs: usualAgentPace.memoryEveryMs * calm,
  };
}
