import { poolFamilies } from '../model/ip-pool.ts';
import { unmetRequirements } from '../model/label-selector.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Family } from '../net/family.ts';
import { poolObstacle } from './assign.ts';
import { compareText, type PoolProblem } from './pool-set.ts';
import { poolUsage } from './pool-status.ts';
import type { Register } from './register.ts';

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

/**
 * Every pool, in the order in which the node would be served: those that select
 * it, best first, and then the others by name. Choosing goes by the same order.
 */
export function poolCandidates(register: Register, node: ClusterNode): PoolCandidate[] {
  const selecting = register.poolSet.selecting(node.labels);
  const others = register.poolSet.pools
    .filter((pool) => !selecting.includes(pool))
    .sort((a, b) => compareText(a.name, b.name));
  return [...selecting, ...others].map((pool) => {
    const usage = poolUsage(register, pool);
    return {
      pool: pool.name,
      isSelecting: selecting.includes(pool),
      unmet: unmetRequirements(pool.selector, node.labels),
      priority: pool.priority,
      specificity: pool.specificity,
      obstacle: poolObstacle(register, pool),
      families: poolFamilies(pool).map((family) => {
        const own = usage.filter((_, at) => pool.cidrs[at]?.family === family);
        return {
          family,
          blockSize: pool.blockSize[family] ?? 0,
          capacity: own.reduce((sum, one) => sum + one.capacity, 0),
          free: own.reduce((sum, one) => sum + one.free, 0),
        };
      }),
    };
  });
}
