import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { type Claim, ClaimIndex } from './claim-index.ts';
import { type Prefix, parsePrefix } from './prefix.ts';

/** The ten-line truth: a list, and every question asked of all of it. */
class Model {
  list: Claim<string>[] = [];
  overlapping = (p: Prefix) => this.list.filter((c) => c.prefix.overlaps(p));
  isFree = (p: Prefix) => this.overlapping(p).length === 0;
  has = (p: Prefix, o: string) => this.list.some((c) => c.owner === o && c.prefix.equals(p));
  record = (p: Prefix, o: string) => this.has(p, o) || this.list.push({ prefix: p, owner: o });
  release(p: Prefix, o: string) {
    const had = this.has(p, o);
    this.list = this.list.filter((c) => !(c.owner === o && c.prefix.equals(p)));
    return had;
  }
  free = (within: Prefix, length: number) =>
    Array.from({ length: within.countOf(length) }, (_, i) => within.subPrefix(length, i)).filter(
      this.isFree,
    );
}

/** Prefixes out of a few ranges, up to so many bits below them. */
const prefixesIn = (ranges: readonly string[], bitsBelow: number, deep: number) =>
  fc
    .tuple(
      fc.constantFrom(...ranges),
      fc.nat({ max: bitsBelow }),
      fc.nat({ max: 2 ** bitsBelow - 1 }),
      fc.boolean(),
    )
    .map(([text, bits, number, isDeep]) => {
      const range = parsePrefix(text)!;
      const block = range.subPrefix(range.length + bits, number >> (bitsBelow - bits));
      if (!isDeep || range.family === 'ipv4') return block;
      return block.subPrefix(block.length + deep, number);
    });

const anyOwner = fc.constantFrom('node-a', 'node-b', 'node-c');

const operationsOn = (prefix: fc.Arbitrary<Prefix>) => {
  const on = <Op extends string>(op: Op) => ({ op: fc.constant(op), prefix, owner: anyOwner });
  return fc.oneof(
    fc.record(on('claim')),
    fc.record(on('record')),
    fc.record(on('release')),
    fc.record({ ...on('releaseOne'), which: fc.nat() }),
    fc.record({ ...on('assign'), more: fc.nat({ max: 6 }) }),
  );
};
type Operation = ReturnType<typeof operationsOn> extends fc.Arbitrary<infer T> ? T : never;

const text = (claims: Iterable<Claim<string>>) =>
  Array.from(claims, (c) => `${c.prefix} ${c.owner}`);
const inOrder = (claims: Claim<string>[]) =>
  claims
    .map((claim, i) => ({ claim, i }))
    .sort((a, b) => a.claim.prefix.compare(b.claim.prefix) || a.i - b.i)
    .map(({ claim }) => claim);

/** Does the same to both; each answer on the way must be the same. */
function apply(index: ClaimIndex<string>, model: Model, operation: Operation): void {
  const { prefix, owner } = operation;
  switch (operation.op) {
    case 'claim': {
      const others = inOrder(model.overlapping(prefix)).filter(
        (c) => !(c.owner === owner && c.prefix.equals(prefix)),
      );
      const answer = index.claim(prefix, owner);
      if (others.length > 0) expect(answer).toEqual({ kind: 'held', by: others[0] });
      else {
        expect(answer).toEqual({ kind: 'claimed' });
        model.record(prefix, owner);
      }
      return;
    }
    case 'record':
      index.record(prefix, owner);
      model.record(prefix, owner);
      return;
    case 'release':
      expect(index.release(prefix, owner)).toBe(model.release(prefix, owner));
      return;
    case 'releaseOne': {
      const claim = model.list[operation.which % (model.list.length || 1)];
      if (claim === undefined) return;
      expect(index.release(claim.prefix, claim.owner)).toBe(true);
      model.release(claim.prefix, claim.owner);
      return;
    }
    case 'assign': {
      const length = Math.min(prefix.length + operation.more, 128);
      const free = index.nextFree(prefix, length);
      expect(free?.toString()).toBe(model.free(prefix, length)[0]?.toString());
      if (free === undefined) return;
      expect(index.claim(free, owner)).toEqual({ kind: 'claimed' });
      model.record(free, owner);
    }
  }
}

function compare(index: ClaimIndex<string>, model: Model, asked: Prefix): void {
  const overlaps = inOrder(model.overlapping(asked));
  expect(text(index.overlapping(asked))).toEqual(text(overlaps));
  expect(index.firstOverlap(asked)).toEqual(overlaps[0]);
  expect(index.isFree(asked)).toBe(overlaps.length === 0);
  expect(index.owners(asked)).toEqual(
    model.list.filter((c) => c.prefix.equals(asked)).map((c) => c.owner),
  );
  for (const more of [0, 1, 3, 4, 6]) {
    const length = asked.length + more;
    if (asked.countOf(length) === 0) continue;
    const free = model.free(asked, length);
    expect(index.nextFree(asked, length)?.toString()).toBe(free[0]?.toString());
    expect(index.countFree(asked, length)).toBe(free.length);
  }
}

function checkAgainstModel(prefix: fc.Arbitrary<Prefix>): void {
  fc.assert(
    fc.property(
      fc.array(operationsOn(prefix), { maxLength: 60, size: 'max' }),
      fc.array(prefix, { minLength: 1, maxLength: 3 }),
      (done, asked) => {
        const index = new ClaimIndex<string>();
        const model = new Model();
        for (const operation of done) apply(index, model, operation);
        expect(index.size).toBe(model.list.length);
        expect(text(index.entries())).toEqual(text(inOrder(model.list)));
        for (const one of asked) compare(index, model, one);
      },
    ),
    { numRuns: runs(1500) },
  );
}

describe('the claim index answers every question as a list does', () => {
  it('in several ranges of both families, with levels that are left out and come back', () => {
    // The second begins in the middle of a node, the fourth straddles two words.
    const ranges = [
      '10.0.0.0/24',
      '10.20.4.0/22',
      '2001:db8::/56',
      '2001:db8:0:ff00::/61',
      'fd00::/8',
    ];
    checkAgainstModel(prefixesIn(ranges, 7, 41));
  });

  it('in one crowded range, where nodes fill up and claims lie over claims', () => {
    checkAgainstModel(prefixesIn(['10.0.0.0/23'], 4, 0));
    checkAgainstModel(prefixesIn(['2001:db8::/63'], 3, 3));
  });
});
