import { type CidrUsage, type Pool, type PoolStatus, poolFamilies } from '../../model/ip-pool.ts';
import type { Block } from '../../model/node-block.ts';
import type { Condition } from '../../model/object.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { isLastResort } from '../blocks/assign.ts';
import { isAwaitingRelease } from '../blocks/block-life.ts';
import { refusedOfPool, roomTakers } from '../blocks/claim-findings.ts';
import type { Register } from '../blocks/register.ts';
import { dated, type PoolVerdicts, poolConditions } from './pool-conditions.ts';

/** How full each CIDR of a pool is. The same arithmetic serves allocator, status and doctor. */
export function poolUsage(register: Register, pool: Pool): CidrUsage[] {
  const blocks = [...register.blocksOfPool(pool.name)].filter((block) => block.phase !== 'Guard');
  return pool.cidrs.map((cidr) => cidrUsage(register, pool, cidr, blocks));
}

function cidrUsage(
  register: Register,
  pool: Pool,
  cidr: Prefix,
  blocks: readonly Block[],
): CidrUsage {
  const size = pool.blockSize[cidr.family] ?? cidr.length;
  const counts = { assigned: 0, cooling: 0, awaitingRelease: 0 };
  let lastResorts = 0;
  for (const block of blocks) {
    if (!cidr.contains(block.prefix)) continue;
    if (block.phase !== 'Cooling') counts.assigned++;
    else if (isAwaitingRelease(block, pool.cooldownSeconds)) counts.awaitingRelease++;
    // What was released by time alone can be handed out, if only after all others.
    else if (isLastResort(register, block, size)) lastResorts++;
    else counts.cooling++;
  }
  return {
    cidr: cidr.toString(),
    capacity: cidr.countOf(size),
    assigned: counts.assigned,
    free: saturate(register.claims.countFree(cidr, size) + lastResorts),
    cooling: counts.cooling,
    awaitingRelease: counts.awaitingRelease,
  };
}

const saturate = (count: number) => Math.min(count, Number.MAX_SAFE_INTEGER);

/**
 * One line for a whole pool: the figures of the family that runs out first. In a
 * pool of both families a node takes one block of each, so a sum would speak of
 * thousands of free blocks where not one more node can be served.
 */
export function totalUsage(pool: Pool, usage: readonly CidrUsage[]): Usage {
  const totals = poolFamilies(pool).map((family) => familyUsage(pool, usage, family));
  const [first = none, ...others] = totals;
  return others.reduce((scarcest, other) => (other.free < scarcest.free ? other : scarcest), first);
}

type Usage = Required<Omit<CidrUsage, 'cidr'>>;

const none: Usage = { capacity: 0, assigned: 0, free: 0, cooling: 0, awaitingRelease: 0 };

export function familyUsage(pool: Pool, usage: readonly CidrUsage[], family: Family): Usage {
  const total = { ...none };
  pool.cidrs.forEach((cidr, at) => {
    const one = usage[at];
    if (cidr.family !== family || one === undefined) return;
    total.capacity = saturate(total.capacity + one.capacity);
    total.assigned += one.assigned;
    total.free = saturate(total.free + one.free);
    total.cooling += one.cooling;
    total.awaitingRelease += one.awaitingRelease ?? 0;
  });
  return total;
}

/** The status a pool should show. `nowText` dates the conditions that changed. */
export function desiredPoolStatus(register: Register, pool: Pool, nowText: string): PoolStatus {
  const usage = poolUsage(register, pool);
  const total = totalUsage(pool, usage);
  const isFull = (family: Family) => familyUsage(pool, usage, family).free === 0;
  const full = poolFamilies(pool).filter(isFull);
  const closed = pool.deleting
    ? ([
        'PoolInUse',
        `being deleted; ${register.blocksOfPool(pool.name).size} blocks are still held`,
      ] as const)
    : pool.disabled
      ? (['PoolDisabled', 'serves no new node'] as const)
      : undefined;
  const verdicts: PoolVerdicts = {
    problem: register.poolSet.problem(pool.name),
    closed,
    ready: ['PoolReady', 'serves nodes'],
    full:
      full.length > 0
        ? [
            'Exhausted',
            `no free ${full.join(' and ')} block left${full.map((family) => roomTakers(register, pool, family)).join('')}`,
          ]
        : undefined,
    hasRoom: ['HasFreeBlocks', 'has free blocks'],
  };
  const { generation, status } = pool;
  return {
    observedGeneration: generation,
    ...total,
    cidrs: usage,
    conditions: [
      ...poolConditions(verdicts, generation, status?.conditions, nowText),
      ...refusedClaimsCondition(register, pool, nowText),
    ],
  };
}

/** There only while it is so: a pool that nobody claims too much of needs no word about it. */
function refusedClaimsCondition(register: Register, pool: Pool, nowText: string): Condition[] {
  const message = refusedOfPool(register, pool);
  if (message === undefined) return [];
  const { generation: observedGeneration, status } = pool;
  const condition = { type: 'ClaimsRefused', status: 'True', reason: 'ClaimRefused' } as const;
  return [dated({ ...condition, message, observedGeneration }, status?.conditions, nowText)];
}
