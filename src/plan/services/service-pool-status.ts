import type { LoadBalancerPoolStatus } from '../../model/load-balancer-pool.ts';
import type { Condition } from '../../model/object.ts';
import type { Address } from '../../net/address.ts';
import { dated } from '../pools/pool-status.ts';
import { capacityOf, holds, type ServicePoolSet } from './service-pools.ts';

/** The status that a LoadBalancerPool should show; undefined if there is no such pool. */
export function desiredServicePoolStatus(
  pools: ServicePoolSet,
  name: string,
  addresses: Iterable<Address>,
  before: { generation: number; status: LoadBalancerPoolStatus | undefined },
  nowText: string,
): LoadBalancerPoolStatus | undefined {
  const pool = pools.pools.find((one) => one.name === name);
  if (pool === undefined) return undefined;
  const capacity = capacityOf(pool);
  let assigned = 0;
  for (const address of addresses) if (holds(pool, address)) assigned++;
  const free = Math.max(0, capacity - assigned);
  const problem = pools.problem(name);
  const conditions: Array<Omit<Condition, 'lastTransitionTime'>> = [
    problem !== undefined
      ? { type: 'Ready', status: 'False', reason: problem.reason, message: problem.detail }
      : pool.disabled
        ? {
            type: 'Ready',
            status: 'False',
            reason: 'PoolDisabled',
            message: 'serves no new Service',
          }
        : { type: 'Ready', status: 'True', reason: 'PoolReady', message: 'serves Services' },
    free === 0
      ? {
          type: 'Exhausted',
          status: 'True',
          reason: 'AddressesExhausted',
          message: 'no free address left',
        }
      : {
          type: 'Exhausted',
          status: 'False',
          reason: 'HasFreeAddresses',
          message: 'has free addresses',
        },
    problem !== undefined
      ? { type: 'Conflict', status: 'True', reason: problem.reason, message: problem.detail }
      : { type: 'Conflict', status: 'False', reason: 'NoConflict', message: 'overlaps nothing' },
  ];
  const { generation, status } = before;
  return {
    observedGeneration: generation,
    capacity,
    assigned,
    free,
    conditions: conditions.map((condition) =>
      dated({ ...condition, observedGeneration: generation }, status?.conditions, nowText),
    ),
  };
}
