/**
 * The codec under a rain of damaged messages: `npm run soak -- bgp-codec [COUNT] [SEED]`,
 * 1,000,000 messages unless told. Ends with the outcomes counted, or at the
 * first message whose outcome is not one a BGP speaker may have.
 */

import { loadCorpus, Mutator, Random } from './bgp-codec/mutator.ts';
import { CodecOracle, type Outcome } from './bgp-codec/oracle.ts';

const count = Number(process.argv[2] ?? 1_000_000);
const seed = Number(process.argv[3] ?? 20);
/** A message is decoded in microseconds; a garbage collection may pass, a loop may not. */
const hangMs = 1_000;

const mutator = new Mutator(loadCorpus(), new Random(seed));
const oracle = new CodecOracle();
const outcomes = new Map<Outcome, number>();
const started = performance.now();
let slowestMs = 0;
let baselineMb = 0;
for (let n = 1; n <= count; n++) {
  const bytes = mutator.next();
  const session = mutator.session();
  const before = performance.now();
  let outcome: Outcome;
  try {
    outcome = oracle.check(bytes, session);
  } catch (error) {
    console.error(`message ${n} of seed ${seed}: ${(error as Error).stack}`);
    console.error(Buffer.from(bytes).toString('hex'), JSON.stringify(session));
    process.exit(1);
  }
  const ms = performance.now() - before;
  slowestMs = Math.max(slowestMs, ms);
  if (ms > hangMs) {
    console.error(`message ${n} took ${ms} ms: ${Buffer.from(bytes).toString('hex')}`);
    process.exit(1);
  }
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const heapMb = n % 100_000 === 0 ? process.memoryUsage().rss / 1e6 : 0;
  if (n === 200_000) baselineMb = heapMb;
  if (baselineMb > 0 && heapMb > baselineMb + 200) {
    console.error(
      `${heapMb.toFixed(0)} MB after ${n} messages, ${baselineMb.toFixed(0)} MB before`,
    );
    process.exit(1);
  }
}
const seconds = (performance.now() - started) / 1000;
const rss = process.memoryUsage().rss / 1e6;
for (const [outcome, times] of [...outcomes].sort()) console.log(`${outcome}: ${times}`);
console.log(
  `${count} messages of seed ${seed} in ${seconds.toFixed(1)} s, slowest ${slowestMs.toFixed(1)} ms, ${rss.toFixed(0)} MB`,
);
