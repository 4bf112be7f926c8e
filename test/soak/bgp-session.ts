/** `npm run soak -- bgp-session [MESSAGES] [SEED]`: damaged messages through live sessions. */
import { loadCorpus, Mutator, Random } from './bgp-codec/mutator.ts';
import { fuzzSessions } from './bgp-session/live-fuzz.ts';

const messages = Number(process.argv[2] ?? 100_000);
const seed = Number(process.argv[3] ?? 11);
const start = performance.now();
const before = process.memoryUsage().rss;
const report = await fuzzSessions(new Mutator(loadCorpus(), new Random(seed)), messages);
const seconds = (performance.now() - start) / 1000;
for (const [outcome, count] of Object.entries(report.outcomes).sort()) {
  console.log(`${outcome.padEnd(8)} ${count}`);
}
const grown = (process.memoryUsage().rss - before) / 2 ** 20;
console.log(`${report.messages} messages in ${report.sessions} sessions, ${seconds.toFixed(1)} s`);
console.log(`memory grew by ${grown.toFixed(0)} MB`);
