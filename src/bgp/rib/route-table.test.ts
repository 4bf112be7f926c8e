import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { RouteTable } from './route-table.ts';

type Key = [number, number, number, number, number, number];

type Step =
  | {
      readonly do: 'set' | 'delete';
      readonly word: number;
      readonly length: number;
      pathId: number;
    }
  | { readonly do: 'mark' }
  | { readonly do: 'sweep' };

/** Few distinct keys, so that steps meet each other. */
const key = {
  word: fc.integer({ min: 0, max: 300 }).map((n) => (n * 0x01000100) | 0),
  length: fc.constantFrom(24, 32),
  pathId: fc.constantFrom(0, 0, 0, 7),
};
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: fc.record({ do: fc.constant('set' as const), ...key }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('delete' as const), ...key }) },
  { weight: 1, arbitrary: fc.constant({ do: 'mark' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'sweep' as const }) },
);

/** `expect` costs more than all the rest of a step; there are a hundred thousand of them. */
function same(is: number, shouldBe: number): void {
  if (is !== shouldBe) throw new Error(`${is} instead of ${shouldBe}`);
}

for (const afi of [1, 2] as const) {
  test(`a table of family ${afi} does what a Map does`, () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600, size: 'max' }), (steps) => {
        const table = new RouteTable(afi);
        const model = new Map<string, { value: number; stale: boolean }>();
        // IPv6 entries differ in the last word only: all four must be compared.
        const args = (word: number, length: number, pathId: number): Key =>
          afi === 1 ? [word, 0, 0, 0, length, pathId] : [0x20010db8, 0, 1, word, length, pathId];
        let value = 0;
        for (const one of steps) {
          if (one.do === 'mark') {
            table.markAllStale();
            for (const entry of model.values()) entry.stale = true;
          } else if (one.do === 'sweep') {
            let swept = 0;
            table.sweepStale(() => swept++);
            let expected = 0;
            for (const [name, entry] of model) if (entry.stale && model.delete(name)) expected++;
            same(swept, expected);
          } else {
            const name = `${one.word}/${one.length}#${one.pathId}`;
            const at = args(one.word, one.length, one.pathId);
            const before = model.get(name)?.value ?? 0;
            if (one.do === 'set') {
              same(table.set(...at, ++value), before);
              model.set(name, { value, stale: false });
            } else {
              same(table.delete(...at), before);
              model.delete(name);
            }
            same(table.get(...at), model.get(name)?.value ?? 0);
          }
          same(table.size, model.size);
        }
        const seen = new Map<string, { value: number; stale: boolean }>();
        table.visit((w0, _w1, _w2, w3, length, pathId, held, stale) => {
          seen.set(`${afi === 1 ? w0 : w3}/${length}#${pathId}`, { value: held, stale });
        });
        expect(seen).toEqual(model);
      }),
      { numRuns: runs(150) },
    );
  });
}

test('a table grows past its first size and stays whole when emptied', () => {
  const table = new RouteTable(1);
  for (let n = 1; n <= 50_000; n++) table.set(n << 8, 0, 0, 0, 24, 0, n);
  expect(table.size).toBe(50_000);
  for (let n = 1; n <= 50_000; n += 2) same(table.delete(n << 8, 0, 0, 0, 24, 0), n);
  for (let n = 1; n <= 50_000; n++) {
    same(table.get(n << 8, 0, 0, 0, 24, 0), n % 2 === 0 ? n : 0);
  }
  table.clear();
  expect(table.size).toBe(0);
  expect(table.get(512, 0, 0, 0, 24, 0)).toBe(0);
});
