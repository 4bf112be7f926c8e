/** When a pool will be full: by the nodes that joined in the last thirty days, at the same pace. */
import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import type { Family } from '../../net/family.ts';
import type { Register } from '../blocks/register.ts';
import { familyUsage, poolUsage } from './pool-status.ts';

export interface PoolForecast {
  /** Whole days until no block is free. */
  days: number;
  /** What it is judged by: so many nodes in so many days. */
  joined: number;
  overDays: number;
}

const dayMs = 86_400_000;
const windowDays = 30;
/** A cluster that is being built grows as it never will again: nothing is foretold from that. */
const youngDays = 7;

/** `since`: when each node joined that has a block of the pool. */
export function forecastOf(
  since: readonly number[],
  nowMs: number,
  free: number,
): PoolForecast | undefined {
  if (since.length === 0) return undefined;
  const firstMs = since.reduce((a, b) => Math.min(a, b));
  const ageDays = (nowMs - firstMs) / dayMs;
  if (ageDays < youngDays) return undefined;
  // The cluster's first day is its building, not its growth.
  const overDays = Math.min(windowDays, ageDays - 1);
  const fromMs = Math.max(nowMs - overDays * dayMs, firstMs + dayMs);
  const joined = since.filter((ms) => ms >= fromMs).length;
  if (joined === 0) return undefined;
  return { days: Math.floor((free * overDays) / joined), joined, overDays };
}

/** Of the family that is full first; undefined where nothing can be foretold. */
export function poolForecast(
  register: Register,
  pool: Pool,
  nowMs: number,
): PoolForecast | undefined {
  const usage = poolUsage(register, pool);
  return poolFamilies(pool)
    .map((family) =>
      forecastOf(joinTimes(register, pool, family), nowMs, familyUsage(pool, usage, family).free),
    )
    .filter((forecast) => forecast !== undefined)
    .reduce<PoolForecast | undefined>(
      (first, one) => (first === undefined || one.days < first.days ? one : first),
      undefined,
    );
}

function joinTimes(register: Register, pool: Pool, family: Family): number[] {
  const nodes = new Set<string>();
  for (const { prefix, nodeName } of register.blocksOfPool(pool.name)) {
    if (prefix.family === family && nodeName !== undefined) nodes.add(nodeName);
  }
  return [...nodes]
    .map((name) => register.nodes.get(name)?.createdMs ?? 0)
    .filter((createdMs) => createdMs > 0);
}
