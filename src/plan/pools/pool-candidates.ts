import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import { unmetRequirements } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Family } from '../../net/family.ts';
import { poolObstacle } from '../blocks/assign.ts';
import type { Register } from '../blocks/register.ts';
import { compareText, type PoolProblem } from './pool-set.ts';
import { familyUsage, poolUsage } from './pool-status.ts';

/** One pool, seen from one node: would it serve, and if not, what stands in the way. */
export interface PoolCandidate {
  pool: string;
  isSelecting: boolean;
  /** The selector's requirements that the node's labels do not meet. */
  unmet: string[];
  priority: number;
  specificity: number;
  /** Why the pool may not cut for anybody. */
  obstacle: PoolProblem | undefined;
  families: Array<{ family: Family; blockSize: number; capacity: number; free: number }>;
}

type Judge = (node: ClusterNode) => PoolCandidate[];

/**
 * Every pool, in the order in which a node would be served: those that select
 * it, best first, and then the others by name. Choosing goes by the same order.
 * How full the pools are is counted once, for all nodes that are asked about.
 */
export function poolCandidates(register: Register): Judge {
  const facts = new Map(register.poolSet.pools.map((pool) => [pool, factsOf(register, pool)]));
  return (node) => {
    const selecting = register.poolSet.selecting(node.labels);
    const others = register.poolSet.pools
      .filter((pool) => !selecting.includes(pool))
      .sort((a, b) => compareText(a.name, b.name));
    return [...selecting, ...others].map((pool) => ({
      pool: pool.name,
      isSelecting: selecting.includes(pool),
      unmet: unmetRequirements(pool.selector, node.labels),
      priority: pool.priority,
      specificity: pool.specificity,
      ...(facts.get(pool) ?? factsOf(register, pool)),
    }));
  };
}

function factsOf(register: Register, pool: Pool): Pick<PoolCandidate, 'obstacle' | 'families'> {
  const usage = poolUsage(register, pool);
  const families = poolFamilies(pool).map((family) => {
    const { capacity, free } = familyUsage(pool, usage, family);
    return { family, blockSize: pool.blockSize[family] ?? 0, capacity, free };
  });
  return { obstacle: poolObstacle(register, pool), families };
}
