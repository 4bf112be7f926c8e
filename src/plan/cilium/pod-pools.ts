import type { CiliumPodPool } from '../../model/cilium-pod-pool.ts';
import { type Cure, cure } from '../../model/cures.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';

/** An IPPool with addresses that the CiliumPodIPPool of its name does not have. */
export interface PoolDifference {
  pool: Pool;
  theirs: CiliumPodPool;
  /** Of the IPPool's CIDRs those that lie outside, wholly or in part. */
  outside: readonly Prefix[];
}

/**
 * In mode multi-pool one name stands for one pool, in Cilium's objects and in ours. An
 * IPPool may be a part of the other; one without a CiliumPodIPPool of its name is fine.
 */
export function poolDifferences(
  pools: readonly Pool[],
  podPools: readonly CiliumPodPool[],
): PoolDifference[] {
  const named = new Map(podPools.map((one) => [one.name, one]));
  return pools.flatMap((pool) => {
    const theirs = named.get(pool.name);
    if (theirs === undefined) return [];
    const space = PrefixSet.of(theirs.cidrs);
    const outside = pool.cidrs.filter((cidr) => !space.covers(cidr));
    return outside.length === 0 ? [] : [{ pool, theirs, outside }];
  });
}

export function differenceCure({ pool, outside }: PoolDifference): Cure {
  const { name } = pool;
  return cure(
    'AlignCiliumPodIPPool',
    `add ${outside.join(', ')} to CiliumPodIPPool ${name}, or take it out of IPPool ${name}`,
  );
}
