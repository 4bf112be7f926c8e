import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyNumbers } from './numbers.ts';
import { emptyTally, live } from './sequence.ts';

/**
 * 30,000 lives of a small cluster against a brute-force model (see sequence.ts),
 * half of them with one block a node and half by demand, always the same ones.
 * Other and longer ones, a hundred thousand: `npm run soak -- register`.
 */
const runs = Number(process.env.FC_RUNS ?? 15_000);
const seed = Number(process.env.FC_SEED ?? 1);

test.each([
  ['one block a node and family', false],
  ['as many blocks as a node asks for', true],
])(
  'no two owners overlap, nothing leaks, rebuilt equals remembered: %s',
  (_, byDemand) => {
    const tally = emptyTally();
    fc.assert(
      fc.property(anyNumbers(12), (numbers) => live(numbers, byDemand, tally)),
      { numRuns: runs, seed },
    );
    console.log('register:', JSON.stringify(tally));
    // Lives in which nothing happened would prove nothing.
    expect(tally.sequences).toBeGreaterThanOrEqual(runs);
    expect(tally.cuts).toBeGreaterThan(runs / 4);
    expect(tally.refusals).toBeGreaterThan(runs / 8);
    expect(tally.crashes).toBeGreaterThan(runs / 50);
    expect(tally.staleDecisions).toBeGreaterThan(tally.decisions / 8);
  },
  900_000,
);
