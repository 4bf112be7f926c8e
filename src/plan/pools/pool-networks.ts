import { isFromFlags, type Pool } from '../../model/ip-pool.ts';
import type { NamedNetwork } from '../../model/network.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import type { PoolProblem } from './pool-problem.ts';

/** A network, and its place in the order in which networks are objected to. */
interface PlacedNetwork extends NamedNetwork {
  readonly source: number;
  readonly at: number;
}

/** Networks that no pool may overlap: those of Services, and the nodes' own addresses. */
export class PoolNetworks {
  readonly #bySource = new Map<string, readonly PlacedNetwork[]>();
  readonly #places = new ClaimIndex<PlacedNetwork>();
  #sources = 0;

  constructor(networks: readonly NamedNetwork[] = []) {
    this.put('', networks);
  }

  /** All networks of one source, in place of those it named before. Returned: those that came or went. */
  put(source: string, networks: readonly NamedNetwork[]): Prefix[] {
    const before = this.#bySource.get(source) ?? [];
    if (isSame(before, networks)) return [];
    for (const network of before) this.#places.release(network.prefix, network);
    const serial = before[0]?.source ?? this.#sources++;
    const placed = networks.map((network, at) => ({ ...network, source: serial, at }));
    for (const network of placed) this.#places.record(network.prefix, network);
    if (placed.length > 0) this.#bySource.set(source, placed);
    else this.#bySource.delete(source);
    return [...before, ...placed].map(({ prefix }) => prefix);
  }

  /** The first network that the pool overlaps. What the pool reserves cannot be handed out, so it may. */
  problemOf(pool: Pool): PoolProblem | undefined {
    const reserved = PrefixSet.of(pool.reserved);
    const isFlags = isFromFlags(pool);
    let first: PlacedNetwork | undefined;
    let ours: Prefix | undefined;
    for (const cidr of pool.cidrs) {
      for (const { prefix, owner: network } of this.#places.overlapping(cidr)) {
        if (network.isNode && isFlags) continue;
        if (first !== undefined && byPlace(first, network) <= 0) continue;
        if (reserved.covers(cidr.length > prefix.length ? cidr : prefix)) continue;
        first = network;
        ours = cidr;
      }
    }
    if (first === undefined) return undefined;
    const detail = `${ours} of pool ${pool.name} overlaps ${first.prefix} of ${first.name}`;
    return { reason: 'OverlapsNetwork', detail };
  }
}

function byPlace(a: PlacedNetwork, b: PlacedNetwork): number {
  return a.source - b.source || a.at - b.at;
}

function isSame(a: readonly NamedNetwork[], b: readonly NamedNetwork[]): boolean {
  return a.length === b.length && a.every(({ prefix }, at) => b[at]?.prefix.equals(prefix));
}
