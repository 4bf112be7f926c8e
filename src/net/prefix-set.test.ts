import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { type Prefix, parsePrefix } from './prefix.ts';
import { PrefixSet } from './prefix-set.ts';

const at = (text: string) => parsePrefix(text)!;
const setOf = (...texts: string[]) => PrefixSet.of(texts.map(at));

/** Blocks out of 64 addresses of each family, so that they meet. */
const anyPrefix = fc
  .tuple(fc.constantFrom('10.0.0.0/26', 'fd00::/122'), fc.nat({ max: 6 }), fc.nat({ max: 63 }))
  .map(([world, bits, number]) => {
    const range = at(world);
    return range.subPrefix(range.length + bits, number >> (6 - bits));
  });
const single = (p: Prefix) =>
  Array.from({ length: p.countOf(p.family === 'ipv4' ? 32 : 128) }, (_, i) =>
    p.subPrefix(p.family === 'ipv4' ? 32 : 128, i).toString(),
  );
const addresses = (prefixes: Iterable<Prefix>) => new Set([...prefixes].flatMap(single));

describe('a set of prefixes', () => {
  it('answers as the set of its addresses does', () => {
    fc.assert(
      fc.property(fc.array(anyPrefix, { maxLength: 8 }), anyPrefix, (prefixes, asked) => {
        const set = PrefixSet.of(prefixes);
        const all = addresses(prefixes);
        expect(addresses(set.prefixes)).toEqual(all);
        expect(set.covers(asked)).toBe(single(asked).every((one) => all.has(one)));
        expect(set.overlapping(asked) !== undefined).toBe(
          single(asked).some((one) => all.has(one)),
        );
        const gone = new Set(single(asked));
        const without = new Set([...all].filter((one) => !gone.has(one)));
        expect(addresses(set.subtract(asked).prefixes)).toEqual(without);
        for (const own of set.prefixes) {
          expect(set.has(own)).toBe(true);
          expect(set.prefixes.filter((other) => other.overlaps(own))).toEqual([own]);
          expect(prefixes.some((given) => given.equals(own))).toBe(true);
        }
      }),
      { numRuns: runs(2000) },
    );
  });

  it('names the block as it was given, even where two make up a larger one', () => {
    const set = setOf('10.0.1.0/24', '10.0.0.0/24');
    expect(set.covers(at('10.0.0.0/23'))).toBe(true);
    expect(set.has(at('10.0.0.0/23'))).toBe(false);
    expect(set.overlapping(at('10.0.0.0/23'))?.toString()).toBe('10.0.0.0/24');
    expect(set.overlapping(at('10.0.1.128/25'))?.toString()).toBe('10.0.1.0/24');
  });

  it('keeps the families apart', () => {
    expect(setOf('0.0.0.0/0').overlapping(at('::/0'))).toBeUndefined();
    expect(setOf('0.0.0.0/0', '::/0').prefixes.map(String)).toEqual(['0.0.0.0/0', '::/0']);
  });

  it('is left with the blocks around what is taken out', () => {
    expect(setOf('10.0.0.0/22').subtract(at('10.0.1.0/24')).prefixes.map(String)).toEqual([
      '10.0.0.0/24',
      '10.0.2.0/23',
    ]);
  });
});
