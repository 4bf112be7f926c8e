/**
 * `npm run soak -- register [LIVES] [SEED]`: the register's properties at length.
 * Half of the lives are lived with one block a node, half by demand.
 */
import fc from 'fast-check';
import { emptyTally, live } from '../register/sequence.ts';

const lives = Number(process.argv[2] ?? 100_000);
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000_000);
const startedMs = performance.now();
const tally = emptyTally();
const batch = 2_500;
for (let done = 0; done < lives; done += batch) {
  const byDemand = (done / batch) % 2 === 1;
  const numbers = fc.array(fc.noBias(fc.integer({ min: 0, max: 0xffffffff })), {
    maxLength: 16,
    size: 'max',
  });
  fc.assert(
    fc.property(numbers, (life) => live(life, byDemand, tally)),
    { numRuns: Math.min(batch, lives - done), seed: seed + done },
  );
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  console.error(`${tally.sequences} of ${lives} lives, ${seconds} s`);
}
const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
console.log(`register: ${JSON.stringify(tally)} in ${seconds} s, seed ${seed}: every promise kept`);
