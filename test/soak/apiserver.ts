/**
 * kill -9 of the embedded API server in the middle of writes:
 *
 *   npm run soak -- apiserver [KILLS] [WRITERS] [SEED]
 */
import { parseArgs } from 'node:util';
import { killAgainAndAgain } from '../apiserver/kill.ts';
import { seededRandom } from '../parts/seeded-random.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const [kills = 50, writers = 16, seed = 1] = positionals.map(Number);
const began = performance.now();

const tally = await killAgainAndAgain({
  kills,
  writers,
  writesALife: 2_000,
  random: seededRandom(seed),
  compactAboveBytes: 200_000,
  onKill: (done, acknowledged) => console.log(`${done} kills, ${acknowledged} writes acknowledged`),
});

console.log(`kills            ${tally.kills}`);
console.log(`acknowledged     ${tally.acknowledged}`);
console.log(`  creates        ${tally.creates}`);
console.log(`  updates        ${tally.updates}`);
console.log(`  deletes        ${tally.deletes}`);
console.log(`without answer   ${tally.unanswered}`);
console.log(`events told      ${tally.told}`);
console.log(`seconds          ${((performance.now() - began) / 1000).toFixed(0)}`);
for (const words of tally.broken) console.log(`broken: ${words}`);
console.log(`broken promises  ${tally.broken.length}`);
process.exit(tally.broken.length === 0 ? 0 : 1);
