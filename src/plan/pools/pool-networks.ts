import type { Pool } from '../../model/ip-pool.ts';
import type { NamedNetwork } from '../../model/network.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import type { PoolProblem } from './pool-problem.ts';

/** Networks that no pool may overlap: those of Services. */
export class PoolNetworks {
  #networks: readonly NamedNetwork[] = [];
  /** By their place in the list: the first in the way is objected to. */
  readonly #places = new ClaimIndex<number>();

  constructor(networks: readonly NamedNetwork[] = []) {
    this.put(networks);
  }

  /** In place of those of before. Returned: those that came or went. */
  put(networks: readonly NamedNetwork[]): Prefix[] {
    const before = this.#networks;
    if (isSame(before, networks)) return [];
    for (const [at, { prefix }] of before.entries()) this.#places.release(prefix, at);
    for (const [at, { prefix }] of networks.entries()) this.#places.record(prefix, at);
    this.#networks = networks;
    return [...before, ...networks].map(({ prefix }) => prefix);
  }

  /** The first network that the pool overlaps. What the pool reserves cannot be handed out, so it may. */
  problemOf(pool: Pool): PoolProblem | undefined {
    const reserved = PrefixSet.of(pool.reserved);
    let first: number | undefined;
    let ours: Prefix | undefined;
    for (const cidr of pool.cidrs) {
      for (const { prefix, owner: at } of this.#places.overlapping(cidr)) {
        if (first !== undefined && first <= at) continue;
        if (reserved.covers(cidr.length > prefix.length ? cidr : prefix)) continue;
        first = at;
        ours = cidr;
      }
    }
    if (first === undefined) return undefined;
    const { name, prefix } = this.#networks[first]!;
    const detail = `${ours} of pool ${pool.name} overlaps ${prefix} of ${name}`;
    return { reason: 'OverlapsNetwork', detail };
  }
}

function isSame(a: readonly NamedNetwork[], b: readonly NamedNetwork[]): boolean {
  return a.length === b.length && a.every(({ prefix }, at) => b[at]?.prefix.equals(prefix));
}
