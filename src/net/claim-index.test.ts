import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Claim, ClaimIndex } from './claim-index.ts';
import { type Prefix, parsePrefix } from './prefix.ts';

const at = (text: string): Prefix => parsePrefix(text)!;

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

/**
 * Small worlds in which overlaps happen all the time. Each is a range of some
 * bits; the second begins in the middle of a node, the fourth straddles two
 * words, the last has levels that nothing ever branches on.
 */
const worlds = ['10.0.0.0/24', '10.20.4.0/22', '2001:db8::/56', '2001:db8:0:ff00::/61', 'fd00::/8'];
const bitsOfWorld = 7;

const anyPrefix = fc
  .tuple(
    fc.constantFrom(...worlds),
    fc.nat({ max: bitsOfWorld }),
    fc.nat({ max: 127 }),
    fc.boolean(),
  )
  .map(([world, bits, number, deep]) => {
    const range = at(world);
    const block = range.subPrefix(range.length + bits, number >> (bitsOfWorld - bits));
    // Now and then far below, so that levels are left out and come back.
    return deep && range.family === 'ipv6' ? block.subPrefix(block.length + 41, number) : block;
  });
const anyOwner = fc.constantFrom('node-a', 'node-b', 'node-c');
const anyOperation = fc.oneof(
  fc.record({ op: fc.constant('claim' as const), prefix: anyPrefix, owner: anyOwner }),
  fc.record({ op: fc.constant('record' as const), prefix: anyPrefix, owner: anyOwner }),
  fc.record({ op: fc.constant('release' as const), prefix: anyPrefix, owner: anyOwner }),
  fc.record({
    op: fc.constant('releaseOne' as const),
    prefix: anyPrefix,
    owner: anyOwner,
    which: fc.nat(),
  }),
  fc.record({
    op: fc.constant('assign' as const),
    prefix: anyPrefix,
    owner: anyOwner,
    more: fc.nat({ max: 6 }),
  }),
);

const text = (claims: Iterable<Claim<string>>) =>
  Array.from(claims, (c) => `${c.prefix} ${c.owner}`);
const inOrder = (claims: Claim<string>[]) =>
  claims
    .map((claim, i) => ({ claim, i }))
    .sort((a, b) => a.claim.prefix.compare(b.claim.prefix) || a.i - b.i)
    .map(({ claim }) => claim);

describe('the claim index against a list', () => {
  it('answers every question as the list does, whatever was done before', () => {
    fc.assert(
      fc.property(
        fc.array(anyOperation, { maxLength: 60 }),
        fc.array(anyPrefix, { minLength: 1, maxLength: 5 }),
        (operations, questions) => {
          const index = new ClaimIndex<string>();
          const model = new Model();
          for (const operation of operations) {
            const { op, prefix, owner } = operation;
            if (op === 'claim') {
              const others = inOrder(model.overlapping(prefix)).filter(
                (c) => !(c.owner === owner && c.prefix.equals(prefix)),
              );
              const answer = index.claim(prefix, owner);
              if (others.length === 0) {
                expect(answer).toEqual({ kind: 'claimed' });
                model.record(prefix, owner);
              } else expect(answer).toEqual({ kind: 'held', by: others[0] });
            } else if (op === 'record') {
              index.record(prefix, owner);
              model.record(prefix, owner);
            } else if (op === 'release') {
              expect(index.release(prefix, owner)).toBe(model.release(prefix, owner));
            } else if (op === 'releaseOne') {
              const claim = model.list[operation.which % (model.list.length || 1)];
              if (claim === undefined) continue;
              expect(index.release(claim.prefix, claim.owner)).toBe(true);
              model.release(claim.prefix, claim.owner);
            } else {
              const length = Math.min(prefix.length + operation.more, 128);
              const free = index.nextFree(prefix, length);
              expect(free?.toString()).toBe(model.free(prefix, length)[0]?.toString());
              if (free === undefined) continue;
              expect(index.claim(free, owner)).toEqual({ kind: 'claimed' });
              model.record(free, owner);
            }
          }
          expect(index.size).toBe(model.list.length);
          expect(text(index.entries())).toEqual(text(inOrder(model.list)));
          for (const prefix of questions) {
            const overlaps = inOrder(model.overlapping(prefix));
            expect(text(index.overlapping(prefix))).toEqual(text(overlaps));
            expect(index.firstOverlap(prefix)).toEqual(overlaps[0]);
            expect(index.isFree(prefix)).toBe(overlaps.length === 0);
            expect(index.owners(prefix)).toEqual(
              model.list.filter((c) => c.prefix.equals(prefix)).map((c) => c.owner),
            );
            for (const more of [0, 1, 3, 4, 5, 8]) {
              const length = prefix.length + more;
              if (prefix.countOf(length) === 0) continue;
              const free = model.free(prefix, length);
              expect(index.nextFree(prefix, length)?.toString()).toBe(free[0]?.toString());
              expect(index.countFree(prefix, length)).toBe(free.length);
            }
          }
        },
      ),
      { numRuns: Number(process.env.FC_RUNS ?? 2000) },
    );
  });
});
