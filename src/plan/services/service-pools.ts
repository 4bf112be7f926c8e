import { spanOf } from '../../model/bgp-config/address-range.ts';
import type { LoadBalancerPool } from '../../model/load-balancer-pool.ts';
import type { NamedNetwork } from '../../model/network.ts';
import { Address } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { DisjointSpans, NestedSpans, type Span } from '../../net/span-list.ts';
import type { PoolProblem } from '../pools/pool-problem.ts';
import { compareText } from '../pools/pool-set.ts';

function spanOfPrefix(prefix: Prefix): Span {
  const [first, last] = [prefix.first().toBigInt(), prefix.last().toBigInt()];
  return { family: prefix.family, first, last, text: prefix.toString() };
}

/** A network that belongs to somebody else, but for what they leave out themselves. */
export interface ExcludedNetwork extends NamedNetwork {
  reserved?: readonly Prefix[];
}

export interface ServicePool extends LoadBalancerPool {
  spans: readonly Span[];
}

/**
 * The pools of Service addresses together, and which of them may serve. Of two
 * that overlap the older one is right, as with pools of blocks. A network that belongs
 * to nodes, pods or cluster-internal Services is never given.
 */
export class ServicePoolSet {
  /** Best first: priority, then age, then name. */
  readonly pools: readonly ServicePool[];
  /** Those that may serve, best first. */
  readonly sound: readonly ServicePool[];
  readonly #byName: ReadonlyMap<string, ServicePool>;
  readonly #problems = new Map<string, PoolProblem>();
  readonly #soundSpans = new DisjointSpans<ServicePool>();

  constructor(pools: Iterable<LoadBalancerPool>, excluded: readonly ExcludedNetwork[] = []) {
    const all = [...pools]
      .map((pool): ServicePool => ({ ...pool, spans: pool.ranges.map(spanOf) }))
      .sort((a, b) => a.createdMs - b.createdMs || compareText(a.name, b.name));
    const foreign = new NestedSpans(
      excluded.map(({ name, prefix, reserved = [] }, at) => ({
        span: spanOfPrefix(prefix),
        owner: { name, at, reserved: reserved.map(spanOfPrefix) },
      })),
    );
    for (const pool of all) {
      const problem = overlapsNetwork(pool, foreign) ?? overlapsPool(pool, this.#soundSpans);
      if (problem === undefined) this.#soundSpans.add(pool.spans, pool);
      else this.#problems.set(pool.name, problem);
    }
    this.#byName = new Map(all.map((pool) => [pool.name, pool]));
    this.pools = all.sort(
      (a, b) => b.priority - a.priority || a.createdMs - b.createdMs || compareText(a.name, b.name),
    );
    this.sound = this.pools.filter(({ name }) => !this.#problems.has(name));
  }

  get(name: string): ServicePool | undefined {
    return this.#byName.get(name);
  }

  problem(name: string): PoolProblem | undefined {
    return this.#problems.get(name);
  }

  containing(address: Address): ServicePool | undefined {
    const value = address.toBigInt();
    const { family } = address;
    return this.#soundSpans.lowest({ family, first: value, last: value, text: '' })?.owner;
  }
}

export function holds(pool: ServicePool, address: Address): boolean {
  const value = address.toBigInt();
  return pool.spans.some(
    ({ family, first, last }) => family === address.family && first <= value && value <= last,
  );
}

/** The lowest address of the pool, in the order of its ranges, that is not taken. */
export function firstFree(
  pool: ServicePool,
  family: Family,
  isTaken: (address: string) => boolean,
): Address | undefined {
  for (const span of pool.spans) {
    if (span.family !== family) continue;
    for (let value = span.first; value <= span.last; value++) {
      const address = Address.fromBigInt(family, value);
      if (pool.avoidBuggyIps && isBuggy(address)) continue;
      if (!isTaken(address.toString())) return address;
    }
  }
  return undefined;
}

/** Some old equipment takes .0 and .255 for a network or a broadcast, whatever the mask. */
export function isBuggy(address: Address): boolean {
  const low = address.w0 & 0xff;
  return address.family === 'ipv4' && (low === 0 || low === 255);
}

/** How many addresses the pool can give in all; saturates. */
export function capacityOf(pool: ServicePool): number {
  let sum = 0n;
  for (const { family, first, last } of pool.spans) {
    sum += last - first + 1n;
    if (pool.avoidBuggyIps && family === 'ipv4') sum -= buggyIn(first, last);
  }
  return sum > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(sum);
}

function buggyIn(first: bigint, last: bigint): bigint {
  // Those that end in `low` up to and including `value`.
  const upTo = (value: bigint, low: bigint) => (value - low + 256n) / 256n;
  const count = (low: bigint) => upTo(last, low) - upTo(first - 1n, low);
  return count(0n) + count(255n);
}

/** Named is the lowest range in the way of the pool's first that has one in its way. */
function overlapsPool(
  pool: ServicePool,
  senior: DisjointSpans<ServicePool>,
): PoolProblem | undefined {
  for (const span of pool.spans) {
    const hit = senior.lowest(span);
    if (hit === undefined) continue;
    const detail = `${span.text} of pool ${pool.name} overlaps ${hit.span.text} of pool ${hit.owner.name}`;
    return { reason: 'OverlappingPools', detail };
  }
  return undefined;
}

interface ForeignNetwork {
  name: string;
  /** Its place in the list. */
  at: number;
  reserved: readonly Span[];
}

/** Named is the network that comes first in the list. */
function overlapsNetwork(
  pool: ServicePool,
  foreign: NestedSpans<ForeignNetwork>,
): PoolProblem | undefined {
  let first = Number.POSITIVE_INFINITY;
  let detail = '';
  for (const one of pool.spans) {
    for (const { span, owner } of foreign.overlapping(one)) {
      const isLeftOut = owner.reserved.some(
        (left) => left.first <= one.first && one.last <= left.last,
      );
      if (isLeftOut || owner.at >= first) continue;
      first = owner.at;
      detail = `${one.text} of pool ${pool.name} overlaps ${span.text} of ${owner.name}`;
    }
  }
  return detail === '' ? undefined : { reason: 'OverlapsNetwork', detail };
}
