/**
 * Lives of a small cluster, as many and as long as one likes:
 *
 *   npm run soak -- register [SEQUENCES] [MOST-STEPS] [SEED]
 *
 * Every second one gives blocks by demand. A broken promise is shrunk to the
 * shortest life that breaks it, and printed; the same seed finds it again.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { anyNumbers } from '../register/numbers.ts';
import { emptyTally, live } from '../register/sequence.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const [sequences = 100_000, mostSteps = 40, seed = 1] = positionals.map(Number);
const portion = 2_500;

const tally = emptyTally();
const began = performance.now();
const seconds = () => ((performance.now() - began) / 1000).toFixed(0);
let saidAt = began;

for (let done = 0; done < sequences; done += portion) {
  const byDemand = (done / portion) % 2 === 1;
  const property = fc.property(anyNumbers(mostSteps), (numbers) => live(numbers, byDemand, tally));
  const numRuns = Math.min(portion, sequences - done);
  const result = fc.check(property, { numRuns, seed: seed + done });
  if (result.failed) {
    console.log(`broken ${byDemand ? 'by demand' : 'one block each'}, seed ${seed + done}`);
    console.log(`life ${JSON.stringify(result.counterexample?.[0])}`);
    console.log(String(result.errorInstance));
    process.exit(1);
  }
  if (performance.now() - saidAt > 10_000) {
    saidAt = performance.now();
    console.log(`${tally.sequences} sequences, ${tally.steps} steps in ${seconds()} s`);
  }
}

console.log(`sequences        ${tally.sequences}`);
console.log(`steps            ${tally.steps}`);
console.log(
  `decisions        ${tally.decisions}, of them on stale knowledge ${tally.staleDecisions}`,
);
console.log(`block writes     ${tally.writes}`);
console.log(`crashes          ${tally.crashes}`);
console.log(`blocks cut       ${tally.cuts}`);
console.log(`refusals         ${tally.refusals}`);
console.log(`seconds          ${seconds()}`);
console.log('broken promises  0');
