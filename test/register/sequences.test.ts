/**
 * Random lives of a small cluster against a brute-force model (see sequence.ts).
 * A few thousand here; `npm run soak -- register` lives a hundred thousand.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { emptyTally, live } from './sequence.ts';

const numbers = fc.array(fc.noBias(fc.integer({ min: 0, max: 0xffffffff })), {
  maxLength: 16,
  size: 'max',
});

for (const byDemand of [false, true]) {
  const what = byDemand ? 'as many blocks as a node asks for' : 'one block a node and family';
  test(`no two owners overlap, nothing leaks, rebuilt equals remembered: ${what}`, () => {
    const tally = emptyTally();
    fc.assert(
      fc.property(numbers, (life) => live(life, byDemand, tally)),
      { numRuns: 4_000, seed: 4_000 },
    );
    console.log('register:', JSON.stringify(tally));
    // Lives in which nothing happened would prove nothing.
    expect(tally.crashes).toBeGreaterThan(100);
    expect(tally.staleDecisions).toBeGreaterThan(1_000);
    expect(tally.cuts).toBeGreaterThan(1_000);
    expect(tally.refusals).toBeGreaterThan(500);
  }, 240_000);
}
