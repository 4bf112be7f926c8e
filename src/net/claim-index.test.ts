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
  }, 120_000);
});

describe('a claim', () => {
  it('is refused when it equals, contains or lies in another, and the answer names that one', () => {
    const index = new ClaimIndex<string>();
    expect(index.claim(at('10.0.4.0/24'), 'node-a')).toEqual({ kind: 'claimed' });
    for (const text of ['10.0.4.0/24', '10.0.4.0/23', '10.0.0.0/8', '10.0.4.128/27', '0.0.0.0/0']) {
      expect(index.claim(at(text), 'node-b')).toEqual({
        kind: 'held',
        by: { prefix: at('10.0.4.0/24'), owner: 'node-a' },
      });
    }
    expect(index.size).toBe(1);
    expect(index.claim(at('10.0.5.0/24'), 'node-b')).toEqual({ kind: 'claimed' });
  });

  it('may be repeated by its owner, and counts once', () => {
    const index = new ClaimIndex<string>();
    index.claim(at('fd00:1::/64'), 'node-a');
    expect(index.claim(at('fd00:1::/64'), 'node-a')).toEqual({ kind: 'claimed' });
    index.record(at('fd00:1::/64'), 'node-a');
    expect(index.size).toBe(1);
    expect(index.release(at('fd00:1::/64'), 'node-a')).toBe(true);
    expect(index.isFree(at('::/0'))).toBe(true);
  });

  it('of one owner does not give that owner a second block inside the first', () => {
    const index = new ClaimIndex<string>();
    index.claim(at('10.0.0.0/16'), 'node-a');
    expect(index.claim(at('10.0.1.0/24'), 'node-a').kind).toBe('held');
  });

  it('of a deleted node frees nothing while another node is recorded for the same block', () => {
    const index = new ClaimIndex<string>();
    index.record(at('10.0.0.0/24'), 'node-a');
    index.record(at('10.0.0.0/24'), 'node-b');
    index.record(at('10.0.0.0/24'), 'node-c');
    expect(index.owners(at('10.0.0.0/24'))).toEqual(['node-a', 'node-b', 'node-c']);
    expect(index.release(at('10.0.0.0/24'), 'node-a')).toBe(true);
    expect(index.release(at('10.0.0.0/24'), 'node-a')).toBe(false);
    expect(index.owners(at('10.0.0.0/24'))).toEqual(['node-b', 'node-c']);
    expect(index.nextFree(at('10.0.0.0/23'), 24)?.toString()).toBe('10.0.1.0/24');
    index.release(at('10.0.0.0/24'), 'node-c');
    index.release(at('10.0.0.0/24'), 'node-b');
    expect(index.nextFree(at('10.0.0.0/23'), 24)?.toString()).toBe('10.0.0.0/24');
  });

  it('of IPv4 is no claim of IPv6 with the same first bits', () => {
    const index = new ClaimIndex<string>();
    index.claim(at('10.0.0.0/8'), 'node-a');
    expect(index.isFree(at('a00::/8'))).toBe(true);
    expect(index.nextFree(at('a00::/8'), 24)?.toString()).toBe('a00::/24');
    expect(index.overlapping(at('::/0'))).toEqual([]);
  });

  it('may have undefined as its owner', () => {
    const index = new ClaimIndex<undefined>();
    index.claim(at('10.0.0.0/24'), undefined);
    expect(index.owners(at('10.0.0.0/24'))).toEqual([undefined]);
    expect(index.isFree(at('10.0.0.0/25'))).toBe(false);
    expect(index.release(at('10.0.0.0/24'), undefined)).toBe(true);
  });
});

describe('the next free block', () => {
  it('is the lowest, and the lowest again after a release', () => {
    const index = new ClaimIndex<number>();
    const pool = at('10.0.0.0/8');
    for (let i = 0; i < 65536; i++) {
      const block = index.nextFree(pool, 24)!;
      expect(block.w0).toBe(pool.subPrefix(24, i).w0);
      index.claim(block, i);
    }
    expect(index.nextFree(pool, 24)).toBeUndefined();
    expect(index.nextFree(pool, 32)).toBeUndefined();
    expect(index.countFree(pool, 24)).toBe(0);
    index.release(at('10.200.7.0/24'), 200 * 256 + 7);
    index.release(at('10.3.9.0/24'), 3 * 256 + 9);
    expect(index.countFree(pool, 24)).toBe(2);
    expect(index.countFree(pool, 26)).toBe(8);
    expect(index.countFree(pool, 23)).toBe(0);
    expect(index.nextFree(pool, 24)?.toString()).toBe('10.3.9.0/24');
    expect(index.nextFree(at('10.128.0.0/9'), 25)?.toString()).toBe('10.200.7.0/25');
  });

  it('is not looked for block by block where smaller claims leave no room', () => {
    const index = new ClaimIndex<number>();
    const pool = at('10.0.0.0/12');
    for (let i = 0; i < 4095; i++) index.record(pool.subPrefix(24, i).subPrefix(30, i % 64), i);
    expect(index.nextFree(pool, 24)?.toString()).toBe('10.15.255.0/24');
    expect(index.countFree(pool, 24)).toBe(1);
    expect(index.countFree(pool, 30)).toBe(4096 * 64 - 4095);
    expect(index.nextFree(pool, 28)?.toString()).toBe('10.0.0.16/28');
  });

  it('is found in pools that no bitmap could hold, and what is counted saturates', () => {
    const index = new ClaimIndex<string>();
    const pool = at('2001:db8::/32');
    expect(index.countFree(pool, 64)).toBe(2 ** 32);
    for (let i = 0; i < 1000; i++) index.claim(index.nextFree(pool, 64)!, `node-${i}`);
    expect(index.nextFree(pool, 64)?.toString()).toBe('2001:db8:0:3e8::/64');
    expect(index.countFree(pool, 64)).toBe(2 ** 32 - 1000);
    index.claim(at('2001:db8:ffff:ffff::/64'), 'the last');
    expect(index.countFree(pool, 64)).toBe(2 ** 32 - 1001);
    expect(index.nextFree(at('2001:db8:ffff:ffff::/64'), 128)).toBeUndefined();
    expect(index.countFree(at('::/0'), 128)).toBe(Number.MAX_SAFE_INTEGER);
    const vast = at('fd00::/36');
    index.claim(index.nextFree(vast, 128)!, 'one');
    expect(index.nextFree(vast, 128)?.toString()).toBe('fd00::1/128');
    expect(index.nextFree(vast, 64)?.toString()).toBe('fd00:0:0:1::/64');
  });

  it('does not exist for a size that does not fit', () => {
    const index = new ClaimIndex<string>();
    expect(index.nextFree(at('10.0.0.0/24'), 23)).toBeUndefined();
    expect(index.nextFree(at('10.0.0.0/24'), 33)).toBeUndefined();
    expect(index.countFree(at('10.0.0.0/24'), 23)).toBe(0);
  });

  it('in the whole of a family works like any other', () => {
    const index = new ClaimIndex<string>();
    expect(index.nextFree(at('0.0.0.0/0'), 0)?.toString()).toBe('0.0.0.0/0');
    expect(index.countFree(at('::/0'), 0)).toBe(1);
    index.claim(at('0.0.0.0/0'), 'all');
    expect(index.nextFree(at('0.0.0.0/0'), 0)).toBeUndefined();
    expect(index.nextFree(at('10.0.0.0/8'), 24)).toBeUndefined();
    expect(index.claim(at('10.0.0.0/8'), 'some').kind).toBe('held');
    index.release(at('0.0.0.0/0'), 'all');
    index.claim(at('128.0.0.0/1'), 'upper');
    expect(index.nextFree(at('0.0.0.0/0'), 1)?.toString()).toBe('0.0.0.0/1');
    expect(index.countFree(at('0.0.0.0/0'), 1)).toBe(1);
  });
});

describe('the index as a whole', () => {
  it('lists what is recorded by family and address, and may be changed meanwhile', () => {
    const index = new ClaimIndex<string>();
    for (const name of ['fd00::/64', '10.0.1.0/24', '10.0.0.0/8', '10.0.0.0/24']) {
      index.record(at(name), name);
    }
    const seen: string[] = [];
    for (const { prefix, owner } of index.entries()) {
      seen.push(prefix.toString());
      index.release(prefix, owner);
    }
    expect(seen).toEqual(['10.0.0.0/8', '10.0.0.0/24', '10.0.1.0/24', 'fd00::/64']);
    expect(index.size).toBe(0);
    expect([...index.entries()]).toEqual([]);
  });

  it('forgets everything when cleared', () => {
    const index = new ClaimIndex<string>();
    index.record(at('10.0.0.0/8'), 'a');
    index.record(at('10.0.0.0/8'), 'b');
    index.clear();
    expect(index.size).toBe(0);
    expect(index.owners(at('10.0.0.0/8'))).toEqual([]);
    expect(index.claim(at('10.0.0.0/9'), 'c').kind).toBe('claimed');
  });
});
