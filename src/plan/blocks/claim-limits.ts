import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import { type Family, familyBits } from '../../net/family.ts';
import { Prefix } from '../../net/prefix.ts';
import { podAddresses } from '../pod-address/block-addresses.ts';
import { bySeniority } from '../pools/pool-set.ts';
import { placeOf } from '../pools/selector-index.ts';

/**
 * What one node may claim of the pools. Records outside the register are written by
 * kubelets and agents, each for its own node, and one of them may be wrong or hostile:
 * a claim that is larger than a block of its pool, or one more than a node may hold,
 * is refused. It is not adopted, and keeps nothing from other nodes (decision 33).
 *
 * Judged by the pools' CIDRs, sizes and limits alone, whether they serve or not, so
 * that the order in which objects come changes nothing.
 */
export class ClaimLimits {
  readonly byDemand: boolean;
  readonly #pools = new Map<string, Pool>();
  /** The pools of each CIDR, the oldest first. */
  readonly #cidrs = new ClaimIndex<Pool[]>();

  constructor(byDemand: boolean) {
    this.byDemand = byDemand;
  }

  /** Takes the pool in. The CIDRs whose claims have to be judged again: none if nothing changed. */
  put(pool: Pool): readonly Prefix[] {
    const before = this.#pools.get(pool.name);
    if (before !== undefined) this.#drop(before);
    this.#pools.set(pool.name, pool);
    for (const cidr of pool.cidrs) this.#add(cidr, pool);
    if (before !== undefined && essence(before) === essence(pool)) return [];
    return [...(before?.cidrs ?? []), ...pool.cidrs];
  }

  remove(name: string): readonly Prefix[] {
    const before = this.#pools.get(name);
    if (before === undefined) return [];
    this.#pools.delete(name);
    this.#drop(before);
    return before.cidrs;
  }

  /** The pool that a prefix is judged by; `inside`: it lies around a whole CIDR of that pool. */
  poolAt(prefix: Prefix): { pool: Pool; inside: boolean } | undefined {
    // Of pools that overlap each other the older one is right (decision 8).
    const [pool] = this.#cidrs
      .around(prefix)
      .map(({ owner }) => owner[0]!)
      .sort(bySeniority);
    if (pool !== undefined) return { pool, inside: false };
    const first = this.#cidrs.firstOverlap(prefix);
    return first === undefined ? undefined : { pool: first.owner[0]!, inside: true };
  }

  /** `registered` is the node's in any case, and counts; of `claimed` the first come first. */
  judge<C extends { prefix: Prefix }>(
    registered: Iterable<Prefix>,
    claimed: readonly C[],
  ): { kept: Array<Kept<C>>; refused: Array<Refused<C>> } {
    const kept: Array<Kept<C>> = [];
    const refused: Array<Refused<C>> = [];
    if (claimed.length === 0) return { kept, refused };
    const cells = new Map<string, Set<string>>();
    const countOf = (pool: Pool, prefix: Prefix) => {
      const key = `${prefix.family} ${pool.name}`;
      const found = cells.get(key) ?? new Set<string>();
      cells.set(key, found);
      return found;
    };
    for (const prefix of registered) {
      const at = this.poolAt(prefix);
      if (at !== undefined) countOf(at.pool, prefix).add(`${cellOf(prefix, at.pool)}`);
    }
    for (const claim of claimed) {
      const at = this.poolAt(claim.prefix);
      if (at === undefined) {
        kept.push({ ...claim, isInPool: false });
        continue;
      }
      const { family, length } = claim.prefix;
      const { pool } = at;
      const size = pool.blockSize[family] ?? familyBits(family);
      if (at.inside || length < size) {
        refused.push({ ...claim, pool, because: 'size' });
        continue;
      }
      const held = countOf(pool, claim.prefix);
      const cell = `${cellOf(claim.prefix, pool)}`;
      if (!held.has(cell) && held.size >= mostBlocksOfNode(pool, family, this.byDemand)) {
        refused.push({ ...claim, pool, because: 'count' });
        continue;
      }
      held.add(cell);
      kept.push({ ...claim, isInPool: true });
    }
    return { kept, refused };
  }

  #add(cidr: Prefix, pool: Pool): void {
    const [pools] = this.#cidrs.owners(cidr);
    if (pools === undefined) this.#cidrs.record(cidr, [pool]);
    else pools.splice(placeOf(pools, pool, bySeniority), 0, pool);
  }

  #drop(pool: Pool): void {
    for (const cidr of pool.cidrs) {
      const [pools = []] = this.#cidrs.owners(cidr);
      const at = placeOf(pools, pool, bySeniority);
      if (pools[at] === pool) pools.splice(at, 1);
      if (pools.length === 0) this.#cidrs.release(cidr, pools);
    }
  }
}

export type Kept<C> = C & { isInPool: boolean };

/** A claim that is not adopted: larger than a block of the pool, or one too many. */
export type Refused<C> = C & { pool: Pool; because: 'size' | 'count' };

/** Without demand a node gets one block of a family; records of a few more are honest. */
export const mostWithoutDemand = 4;
/** By demand: for more pods than anybody runs on one node, whatever the size of the blocks. */
export const mostPods = 4_096;
const fewestByDemand = 16;

/** The most blocks of a pool that one node may hold, of one family. */
export function mostBlocksOfNode(pool: Pool, family: Family, byDemand: boolean): number {
  if (pool.maxBlocksPerNode !== undefined) return pool.maxBlocksPerNode;
  if (!byDemand) return mostWithoutDemand;
  const cidr = pool.cidrs.find((one) => one.family === family);
  if (cidr === undefined) return fewestByDemand;
  const block = Prefix.of(cidr.first(), pool.blockSize[family] ?? cidr.length);
  const podsPerBlock = Number(podAddresses(block));
  return Math.max(fewestByDemand, Math.ceil(mostPods / podsPerBlock));
}

/** The block of the pool's size that a prefix lies in; a larger one is its own. */
export function cellOf(prefix: Prefix, pool: Pool): Prefix {
  const size = pool.blockSize[prefix.family] ?? prefix.length;
  return prefix.length > size ? prefix.parent(size) : prefix;
}

/** What a judgement depends on: its age too, where pools overlap. */
function essence(pool: Pool): string {
  const sizes = poolFamilies(pool).map((family) => `${pool.blockSize[family]}`);
  return `${pool.cidrs.join()} ${sizes.join()} ${pool.maxBlocksPerNode ?? ''} ${pool.createdMs}`;
}
