import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../parts/random.ts';
import { anyNumbers } from './numbers.ts';
import { emptyTally, live } from './sequence.ts';

/**
 * 12,000 lives of a small cluster against a brute-force model (see sequence.ts),
 * half of them with one block a node and half by demand, always the same ones.
 * Other and longer ones, a hundred thousand: `npm run soak -- register`.
 */
const lives = runs(6_000);

test.each([
  ['one block a node and family', false],
  ['as many blocks as a node asks for', true],
])(
  'no two owners overlap, nothing leaks, rebuilt equals remembered: %s',
  (_, byDemand) => {
    const tally = emptyTally();
    fc.assert(
      fc.property(anyNumbers(12), (numbers) => live(numbers, byDemand, tally)),
      { numRuns: runs(6_000) },
    );
    console.log('register:', JSON.stringify(tally));
    // Lives in which nothing happened would prove nothing.
    expect(tally.sequences).toBeGreaterThanOrEqual(lives);
    expect(tally.cuts).toBeGreaterThan(lives / 4);
    expect(tally.refusals).toBeGreaterThan(lives / 8);
    expect(tally.crashes).toBeGreaterThan(lives / 50);
    expect(tally.staleDecisions).toBeGreaterThan(tally.decisions / 8);
    expect(tally.freed).toBeGreaterThan(lives / 4);
    // On a machine that is busy with everything else; alone it takes a tenth of that.
  },
  600_000,
);
