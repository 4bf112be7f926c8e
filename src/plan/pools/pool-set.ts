import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import { type Labels, selects } from '../../model/label-selector.ts';
import type { NamedNetwork } from '../../model/network.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';

/** Why a pool serves nothing, with the other's name. */
export interface PoolProblem {
  reason: Reason;
  detail: string;
}

/**
 * All pools together, and which of them may serve. Of two pools that overlap the
 * older one is right and the younger one serves nothing: a pool that is already
 * in use must not be stopped by a new one.
 */
export class PoolSet {
  readonly pools: readonly Pool[];
  readonly #byName = new Map<string, Pool>();
  readonly #problems = new Map<string, PoolProblem>();

  constructor(pools: Iterable<Pool>, networks: readonly NamedNetwork[] = []) {
    this.pools = [...pools].sort(bySeniority);
    const senior: Pool[] = [];
    for (const pool of this.pools) {
      this.#byName.set(pool.name, pool);
      const problem = overlapsNetwork(pool, networks) ?? overlapsPool(pool, senior);
      if (problem === undefined) senior.push(pool);
      else this.#problems.set(pool.name, problem);
    }
  }

  get(name: string): Pool | undefined {
    return this.#byName.get(name);
  }

  problem(name: string): PoolProblem | undefined {
    return this.#problems.get(name);
  }

  /** The pool that a block lies in; sound pools come before those with a problem. */
  containing(prefix: Prefix): Pool | undefined {
    const holders = this.pools.filter((pool) => pool.cidrs.some((cidr) => cidr.contains(prefix)));
    return holders.find((pool) => !this.#problems.has(pool.name)) ?? holders[0];
  }

  /**
   * The pool that a block belongs to now: the one it was cut from, as long as
   * that contains it; else whichever does. (After a change of mode the blocks
   * still carry the name of a pool that is no more.)
   */
  homeOf({ pool, prefix }: { pool: string; prefix: Prefix }): Pool | undefined {
    const named = this.#byName.get(pool);
    if (named?.cidrs.some((cidr) => cidr.contains(prefix))) return named;
    return this.containing(prefix);
  }

  /** The pools that select a node, best first: priority, then specificity, then name. */
  selecting(labels: Labels): Pool[] {
    return this.pools.filter((pool) => selects(pool.selector, labels)).sort(byPreference);
  }

  /** Every family that any pool serves. */
  families(): Set<Family> {
    return new Set(this.pools.flatMap((pool) => poolFamilies(pool)));
  }
}

function bySeniority(a: Pool, b: Pool): number {
  return a.createdMs - b.createdMs || compareText(a.name, b.name);
}

function byPreference(a: Pool, b: Pool): number {
  return b.priority - a.priority || b.specificity - a.specificity || compareText(a.name, b.name);
}

/** By code unit, not by locale: every replica must sort alike. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function overlapsPool(pool: Pool, senior: readonly Pool[]): PoolProblem | undefined {
  for (const other of senior) {
    for (const cidr of pool.cidrs) {
      const hit = other.cidrs.find((theirs) => theirs.overlaps(cidr));
      if (hit !== undefined) {
        const detail = `${cidr} of pool ${pool.name} overlaps ${hit} of pool ${other.name}`;
        return { reason: 'OverlappingPools', detail };
      }
    }
  }
  return undefined;
}

/** What the pool itself reserves cannot be handed out, so it may overlap. */
export function overlapsNetwork(
  pool: Pool,
  networks: readonly NamedNetwork[],
): PoolProblem | undefined {
  const reserved = PrefixSet.of(pool.reserved);
  for (const { name, prefix } of networks) {
    const cidr = pool.cidrs.find((ours) => {
      const shared = ours.length > prefix.length ? ours : prefix;
      return ours.overlaps(prefix) && !reserved.covers(shared);
    });
    if (cidr === undefined) continue;
    const detail = `${cidr} of pool ${pool.name} overlaps ${prefix} of ${name}`;
    return { reason: 'OverlapsNetwork', detail };
  }
  return undefined;
}
