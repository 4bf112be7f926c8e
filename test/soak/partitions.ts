/**
 * Histories of a simulated site whose links are cut at random:
 *
 *   npm run soak -- partitions [HISTORIES] [MOST-HAPPENINGS] [SEED]
 *
 * A broken invariant is shrunk to the shortest history that breaks it, and printed; the
 * same seed finds it again.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { anyHistory, emptyTally, live } from '../simulation/history.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const [histories = 10_000, most = 30, seed = 1] = positionals.map(Number);
const portion = 250;

const tally = emptyTally();
const began = performance.now();
const seconds = () => ((performance.now() - began) / 1000).toFixed(0);
let saidAt = began;

for (let done = 0; done < histories; done += portion) {
  const property = fc.property(anyHistory(most), (history) => live(history, tally));
  const numRuns = Math.min(portion, histories - done);
  const result = fc.check(property, { numRuns, seed: seed + done });
  if (result.failed) {
    console.log(`broken, seed ${seed + done}`);
    console.log(JSON.stringify(result.counterexample?.[0]));
    console.log(String(result.errorInstance));
    process.exit(1);
  }
  if (performance.now() - saidAt > 10_000) {
    saidAt = performance.now();
    console.log(`${tally.histories} histories, ${tally.ticks} moments in ${seconds()} s`);
  }
}

const released = [...tally.released].map(([by, count]) => `${count} by ${by}`);
console.log(`histories             ${tally.histories}`);
console.log(`moments               ${tally.ticks}, each looked at`);
console.log(`blocks released       ${released.join(', ')}`);
console.log(`seconds               ${seconds()}`);
console.log('addresses in two places  0');
console.log('routes taken away by an API server that is down  0');
