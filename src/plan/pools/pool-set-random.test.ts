/** The pool set that is brought up to date change by change, against the rules as one would write them down. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { at, pool, second } from '../../../test/register/objects.ts';
import type { Pool } from '../../model/ip-pool.ts';
import { type LabelSelector, type Labels, selects } from '../../model/label-selector.ts';
import type { NamedNetwork } from '../../model/network.ts';
import type { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import type { PoolProblem } from './pool-problem.ts';
import { compareText, PoolSet } from './pool-set.ts';

const byAge = (a: Pool, b: Pool) => a.createdMs - b.createdMs || compareText(a.name, b.name);

function simpleProblems(pools: readonly Pool[], networks: readonly NamedNetwork[]) {
  const senior: Pool[] = [];
  const problems = new Map<string, PoolProblem>();
  for (const one of [...pools].sort(byAge)) {
    const problem = overNetwork(one, networks) ?? overPool(one, senior);
    if (problem === undefined) senior.push(one);
    else problems.set(one.name, problem);
  }
  return problems;
}

function overNetwork(one: Pool, networks: readonly NamedNetwork[]): PoolProblem | undefined {
  const reserved = PrefixSet.of(one.reserved);
  for (const { name, prefix } of networks) {
    const cidr = one.cidrs.find((ours) => {
      const shared = ours.length > prefix.length ? ours : prefix;
      return ours.overlaps(prefix) && !reserved.covers(shared);
    });
    if (cidr === undefined) continue;
    const detail = `${cidr} of pool ${one.name} overlaps ${prefix} of ${name}`;
    return { reason: 'OverlapsNetwork', detail };
  }
  return undefined;
}

/** Named is the lowest CIDR in the way of the pool's first that has one in its way. */
function overPool(one: Pool, senior: readonly Pool[]): PoolProblem | undefined {
  const taken = senior
    .flatMap(({ name, cidrs }) => cidrs.map((cidr) => ({ name, cidr })))
    .sort((a, b) => a.cidr.compare(b.cidr));
  for (const cidr of one.cidrs) {
    const hit = taken.find((theirs) => theirs.cidr.overlaps(cidr));
    if (hit === undefined) continue;
    const detail = `${cidr} of pool ${one.name} overlaps ${hit.cidr} of pool ${hit.name}`;
    return { reason: 'OverlappingPools', detail };
  }
  return undefined;
}

function simpleContaining(
  pools: readonly Pool[],
  problems: ReadonlyMap<string, PoolProblem>,
  prefix: Prefix,
): Pool | undefined {
  const holders = [...pools]
    .sort(byAge)
    .filter(({ cidrs }) => cidrs.some((cidr) => cidr.contains(prefix)));
  return holders.find(({ name }) => !problems.has(name)) ?? holders[0];
}

const simpleSelecting = (pools: readonly Pool[], labels: Labels) =>
  pools
    .filter(({ selector }) => selects(selector, labels))
    .sort(
      (a, b) =>
        b.priority - a.priority || b.specificity - a.specificity || compareText(a.name, b.name),
    );

/** Few addresses, so that much overlaps. */
const cidr = fc
  .tuple(fc.boolean(), fc.nat(15), fc.integer({ min: 0, max: 4 }))
  .map(([isV6, number, bits]) => {
    const start = (number >> (4 - bits)) << (4 - bits);
    return isV6 ? `fd00:0:0:${start.toString(16)}::/${60 + bits}` : `10.0.${start}.0/${20 + bits}`;
  });
const value = fc.constantFrom('x', 'y', 'z');
const selector: fc.Arbitrary<LabelSelector | undefined> = fc.option(
  fc.record(
    {
      matchLabels: fc.dictionary(fc.constantFrom('rack', 'zone'), value, { maxKeys: 2 }),
      matchExpressions: fc.array(
        fc.oneof(
          fc.record({
            key: fc.constantFrom('rack', 'gpu'),
            operator: fc.constantFrom('In', 'NotIn'),
            values: fc.array(value, { minLength: 1, maxLength: 3 }),
          }),
          fc.record({
            key: fc.constant('gpu'),
            operator: fc.constantFrom('Exists', 'DoesNotExist'),
          }),
        ),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<LabelSelector>,
  { nil: undefined },
);
const name = fc.nat(7).map((number) => `pool-${number}`);
const putPool = fc.record({
  name,
  cidrs: fc.uniqueArray(cidr, { minLength: 1, maxLength: 3 }),
  reserved: fc.array(cidr, { maxLength: 2 }),
  selector,
  priority: fc.integer({ min: 0, max: 1 }),
  created: fc.nat(3),
});
const change = fc.oneof(
  { weight: 4, arbitrary: putPool.map((put) => ({ kind: 'put' as const, put })) },
  { weight: 1, arbitrary: name.map((gone) => ({ kind: 'remove' as const, gone })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('services', 'node/a', 'node/b'), fc.array(cidr, { maxLength: 2 }))
      .map(([source, cidrs]) => ({ kind: 'networks' as const, source, cidrs })),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'settle' as const }) },
);
const labels = fc.dictionary(fc.constantFrom('rack', 'zone', 'gpu'), value);

/** A pool of both sizes, whatever a reader would say of its CIDRs. */
function poolOf({
  name: called,
  cidrs,
  ...put
}: typeof putPool extends fc.Arbitrary<infer T> ? T : never): Pool {
  const one = pool(called, { cidrs: ['10.0.0.0/8'] }, { creationTimestamp: second(put.created) });
  return {
    ...one,
    cidrs: cidrs.map(at),
    reserved: put.reserved.map(at),
    selector: put.selector,
    specificity:
      Object.keys(put.selector?.matchLabels ?? {}).length +
      (put.selector?.matchExpressions?.length ?? 0),
    priority: put.priority,
  };
}

test('whatever comes, changes and goes, in whatever order: the set answers by the simple rules', () => {
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 30 }),
      fc.array(cidr, { maxLength: 6 }),
      fc.array(labels, { maxLength: 3 }),
      (changes, asked, nodes) => {
        const set = new PoolSet([]);
        const pools = new Map<string, Pool>();
        const networks = new Map<string, NamedNetwork[]>();
        const check = () => {
          set.settle();
          const all = [...pools.values()];
          const problems = simpleProblems(all, [...networks.values()].flat());
          expect(set.pools.map((one) => one.name)).toEqual(all.sort(byAge).map((one) => one.name));
          for (const one of all) expect(set.problem(one.name)).toEqual(problems.get(one.name));
          for (const text of asked) {
            expect(set.containing(at(text))).toBe(simpleContaining(all, problems, at(text)));
          }
          for (const node of nodes)
            expect([...set.selecting(node)]).toEqual(simpleSelecting(all, node));
          const families = all.flatMap((one) => one.cidrs.map(({ family }) => family));
          expect(set.families()).toEqual(new Set(families));
        };
        for (const one of changes) {
          if (one.kind === 'put') {
            const put = poolOf(one.put);
            set.put(put);
            pools.set(put.name, put);
          } else if (one.kind === 'remove') {
            set.remove(one.gone);
            pools.delete(one.gone);
          } else if (one.kind === 'networks') {
            const named = one.cidrs.map((text) => ({ name: one.source, prefix: at(text) }));
            networks.set(one.source, named);
            set.putNetworks([...networks.values()].flat());
          } else check();
        }
        check();
      },
    ),
    { numRuns: runs(400) },
  );
});
