import type { LoadBalancerPoolStatus } from '../../model/load-balancer-pool.ts';
import type { Address } from '../../net/address.ts';
import { type PoolVerdicts, poolConditions } from '../pools/pool-conditions.ts';
import { capacityOf, holds, type ServicePoolSet } from './service-pools.ts';

/** The status that a LoadBalancerPool should show; undefined if there is no such pool. */
export function desiredServicePoolStatus(
  pools: ServicePoolSet,
  name: string,
  addresses: Iterable<Address>,
  before: { generation: number; status: LoadBalancerPoolStatus | undefined },
  nowText: string,
): LoadBalancerPoolStatus | undefined {
  const pool = pools.get(name);
  if (pool === undefined) return undefined;
  const capacity = capacityOf(pool);
  let assigned = 0;
  for (const address of addresses) if (holds(pool, address)) assigned++;
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
