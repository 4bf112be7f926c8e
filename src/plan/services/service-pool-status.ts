import type { LoadBalancerPoolStatus } from '../../model/load-balancer-pool.ts';
import { type PoolVerdicts, poolConditions } from '../pools/pool-conditions.ts';
import type { HeldAddresses } from './held-addresses.ts';
import { capacityOf, type ServicePoolSet } from './service-pools.ts';

/** The status that a LoadBalancerPool should show; undefined if there is no such pool. */
export function desiredServicePoolStatus(
  pools: ServicePoolSet,
  name: string,
  held: HeldAddresses,
  before: { generation: number; status: LoadBalancerPoolStatus | undefined },
  nowText: string,
): LoadBalancerPoolStatus | undefined {
  const pool = pools.get(name);
  if (pool === undefined) return undefined;
  const capacity = capacityOf(pool);
  const assigned = held.countIn(pool.spans);
  const free = Math.max(0, capacity - assigned);
  const verdicts: PoolVerdicts = {
    problem: pools.problem(name),
    closed: pool.disabled ? ['PoolDisabled', 'serves no new Service'] : undefined,
    ready: ['PoolReady', 'serves Services'],
    full: free === 0 ? ['AddressesExhausted', 'no free address left'] : undefined,
    hasRoom: ['HasFreeAddresses', 'has free addresses'],
  };
  const { generation, status } = before;
  return {
    observedGeneration: generation,
    capacity,
    assigned,
    free,
    conditions: poolConditions(verdicts, generation, status?.conditions, nowText),
  };
}
