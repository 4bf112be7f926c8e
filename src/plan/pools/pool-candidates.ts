import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import { unmetRequirements } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Family } from '../../net/family.ts';
import { poolObstacle } from '../blocks/assign.ts';
import type { Register } from '../blocks/register.ts';
import type { PoolProblem } from './pool-problem.ts';
import { compareText } from './pool-set.ts';
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

/**
 * The pools that select a node, best first: the order of choice. How full a pool is, is counted once for
 * all nodes that are asked about, and not before somebody looks at that pool.
 */
export function selectingCandidates(
  register: Register,
): (node: ClusterNode) => Iterable<PoolCandidate> {
  const candidateOf = candidates(register);
  return function* (node) {
    for (const pool of register.poolSet.selecting(node.labels)) yield candidateOf(node, pool, true);
  };
}

/** Every pool: those that select the node, as above, and then the others by name. */
export function poolCandidates(register: Register): (node: ClusterNode) => PoolCandidate[] {
  const candidateOf = candidates(register);
  return (node) => {
    const selecting = new Set(register.poolSet.selecting(node.labels));
    const others = register.poolSet.pools
      .filter((pool) => !selecting.has(pool))
      .sort((a, b) => compareText(a.name, b.name));
    return [
      ...[...selecting].map((pool) => candidateOf(node, pool, true)),
      ...others.map((pool) => candidateOf(node, pool, false)),
    ];
  };
}

function candidates(register: Register) {
  const known = new Map<Pool, ReturnType<typeof factsOf>>();
  return (node: ClusterNode, pool: Pool, isSelecting: boolean): PoolCandidate => {
    const facts = known.get(pool) ?? factsOf(register, pool);
    known.set(pool, facts);
    return {
      pool: pool.name,
      isSelecting,
      unmet: isSelecting ? [] : unmetRequirements(pool.selector, node.labels),
      priority: pool.priority,
      specificity: pool.specificity,
      ...facts,
    };
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
