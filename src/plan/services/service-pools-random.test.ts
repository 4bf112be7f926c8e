/** The set that searches in sorted spans, against the rules as one would write them down. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { spanOf } from '../../model/bgp-config/address-range.ts';
import type { LoadBalancerPool } from '../../model/load-balancer-pool.ts';
import { Address } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { compareText } from '../pools/pool-set.ts';
import { type ExcludedNetwork, holds, ServicePoolSet } from './service-pools.ts';

const address = (at: number) => Address.fromBigInt('ipv4', BigInt(0x0a060000 + at)).toString();

/** Few addresses, so that much overlaps. */
const range = fc.tuple(fc.nat(255), fc.nat(20)).map(([first, more]) => {
  const text = `${address(first)}-${address(first + more)}`;
  return { family: 'ipv4' as const, first: address(first), last: address(first + more), text };
});
const cidr = fc
  .tuple(fc.nat(255), fc.integer({ min: 26, max: 32 }))
  .map(([at, length]) => parsePrefix(`10.6.0.${at}/${length}`)!);
const pools = fc.array(
  fc.record({
    ranges: fc.array(range, { minLength: 1, maxLength: 3 }),
    createdMs: fc.nat(3),
    priority: fc.nat(2),
  }),
  { maxLength: 8 },
);
const networks = fc.array(fc.record({ prefix: cidr, reserved: fc.array(cidr, { maxLength: 2 }) }), {
  maxLength: 4,
});

function simpleProblems(all: readonly LoadBalancerPool[], excluded: readonly ExcludedNetwork[]) {
  const isOver = (a: { first: bigint; last: bigint }, b: { first: bigint; last: bigint }) =>
    a.first <= b.last && b.first <= a.last;
  const spanOfPrefix = (prefix: ExcludedNetwork['prefix']) => ({
    first: prefix.first().toBigInt(),
    last: prefix.last().toBigInt(),
  });
  const senior: LoadBalancerPool[] = [];
  const problems = new Map<string, string>();
  const byAge = [...all].sort((a, b) => a.createdMs - b.createdMs || compareText(a.name, b.name));
  for (const pool of byAge) {
    const spans = pool.ranges.map(spanOf);
    const network = excluded.find(({ prefix, reserved = [] }) =>
      spans.some(
        (span) =>
          isOver(span, spanOfPrefix(prefix)) &&
          !reserved
            .map(spanOfPrefix)
            .some((left) => left.first <= span.first && span.last <= left.last),
      ),
    );
    const isOverPool = spans.some((span) =>
      senior.some(({ ranges }) => ranges.map(spanOf).some((theirs) => isOver(span, theirs))),
    );
    if (network !== undefined) problems.set(pool.name, `of ${network.name}`);
    else if (isOverPool) problems.set(pool.name, 'OverlappingPools');
    else senior.push(pool);
  }
  return problems;
}

test('who may serve, and which pool an address is of, are as the simple rules say', () => {
  fc.assert(
    fc.property(pools, networks, fc.array(fc.nat(280)), (given, foreign, asked) => {
      const all = given.map(
        (one, at): LoadBalancerPool => ({
          ...one,
          name: `lb-${at}`,
          serviceSelector: undefined,
          autoAssign: true,
          avoidBuggyIps: false,
          disabled: false,
          advertisements: [],
        }),
      );
      const excluded = foreign.map((one, at) => ({ ...one, name: `network ${at}` }));
      const set = new ServicePoolSet(all, excluded);
      const problems = simpleProblems(all, excluded);
      for (const { name } of all) {
        const { reason, detail } = set.problem(name) ?? {};
        const wanted = problems.get(name);
        if (wanted === undefined) expect(reason).toBeUndefined();
        else if (wanted === 'OverlappingPools') expect(reason).toBe(wanted);
        else expect(detail?.endsWith(wanted)).toBe(true);
      }
      for (const at of asked) {
        const one = Address.fromBigInt('ipv4', BigInt(0x0a060000 + at));
        const holder = set.pools.find((pool) => !problems.has(pool.name) && holds(pool, one));
        expect(set.containing(one)?.name).toBe(holder?.name);
      }
    }),
    { numRuns: runs(300) },
  );
});
