/**
 * `npm run soak -- operator-chaos [MINUTES] [SEED]`: the story of
 * test/world/chaos.test.ts for as long as you like, with thousands of nodes.
 * First with an honest API server, then with one that lies, then with three
 * replicas that all lead; then, over and over, a thousand nodes that hold blocks
 * are taken over under fire. Ends with one line for each part, and exit code 1
 * if any judge complains.
 */

import { seededRandom } from '../parts/seeded-random.ts';
import { type ChaosPlan, type ChaosReport, chaosLine, runChaos } from '../world/chaos.ts';
import { Cluster } from '../world/cluster.ts';
import { Crew } from '../world/crew.ts';
import { eventually } from '../world/eventually.ts';
import { everyFault } from '../world/every-fault.ts';
import { moveIn, mustBeTakenOver, residents } from '../world/residents.ts';

const minutes = Number(process.argv[2] ?? 12);
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1e6));
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('usage: npm run soak -- operator-chaos [MINUTES] [SEED]');
  process.exit(2);
}

const part: ChaosPlan = {
  seed,
  joiners: 2_000,
  strikes: Number.POSITIVE_INFINITY,
  forMs: minutes * 60_000 * 0.3,
  everyMs: 1_000,
  deedsPerSecond: 60,
  settleWithinMs: 180_000,
};

console.log(`operator-chaos: ${minutes} minutes, seed ${seed}`);
const cluster = await Cluster.start();
try {
  await cluster.registerCrds();
  await cluster.registerCiliumNodes();
  const honest = await tell('chaos', part);
  await cluster.wipe();
  const faulty = { ...part, faults: everyFault };
  const lying = await tell('chaos with faults', { ...faulty, seed: seed + 1 });
  await cluster.wipe();
  const crowded = { ...faulty, forMs: minutes * 60_000 * 0.2, allLead: true };
  const rivals = await tell('chaos with faults and three leaders', { ...crowded, seed: seed + 2 });
  await cluster.wipe();
  const flaws = [honest, lying, rivals].flatMap(flawsOf).concat(await takeOverUnderFire());
  for (const flaw of flaws.slice(0, 50)) console.log(`FLAW ${flaw}`);
  console.log(`operator-chaos: ${flaws.length} flaws`);
  process.exitCode = flaws.length === 0 ? 0 : 1;
} finally {
  await cluster.stop();
}

async function tell(name: string, plan: ChaosPlan): Promise<ChaosReport> {
  const startedMs = performance.now();
  const say = (line: string) => {
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    console.log(`${name}, ${seconds} s: ${line}`);
  };
  const report = await runChaos(cluster, { ...plan, say });
  console.log(chaosLine(name, report));
  return report;
}

/** Nothing that was held may be lost or given away, whoever dies while it is taken over. */
async function takeOverUnderFire(): Promise<string[]> {
  const random = seededRandom(seed + 3);
  const untilMs = performance.now() + minutes * 60_000 * 0.2;
  const flaws: string[] = [];
  const struck = { killed: 0, frozen: 0, restarted: 0, cutOff: 0 };
  let rounds = 0;
  let faults = 0;
  do {
    rounds += 1;
    const all = residents();
    await moveIn(cluster, all);
    const crew = await Crew.start(cluster, { seed: seed + rounds, faults: everyFault }, random);
    const stop = new AbortController();
    try {
      await crew.strikeUntil({ strikes: 12, everyMs: 700 }, stop.signal);
      await crew.calm();
      await eventually(() => mustBeTakenOver(cluster, all), { withinMs: 120_000, everyMs: 1_000 });
    } catch (error) {
      flaws.push((error as Error).message);
    }
    for (const kind of Object.keys(struck) as (keyof typeof struck)[]) {
      struck[kind] += crew.strikes[kind];
    }
    faults += Object.values(crew.faults()).reduce((sum, count) => sum + count, 0);
    await crew.stop();
    flaws.push(...crew.crashes);
    await cluster.wipe();
  } while (performance.now() < untilMs);
  const { killed, frozen, restarted, cutOff } = struck;
  console.log(
    `take-over: ${rounds} times 1000 nodes, ${killed} kills, ${frozen} freezes, ${restarted} restarts, ${cutOff} cut off, ${faults} faults; ${rounds * 975} held blocks kept, ${flaws.length} complaints`,
  );
  return flaws;
}

function flawsOf(report: ChaosReport): string[] {
  const { verdict, testimony, crashes, writesAtRest, strikes } = report;
  const flaws = [...verdict.complaints, ...testimony.complaints, ...crashes];
  if (writesAtRest > 0) flaws.push(`${writesAtRest} writes although all was settled`);
  if (verdict.counted.served !== verdict.counted.nodes) flaws.push('not every node is served');
  // A soak that soaked nothing proves nothing.
  if (strikes.killed === 0 || strikes.frozen === 0) flaws.push('nobody was killed or frozen');
  if (testimony.counted.blocksFreed === 0) flaws.push('no block ever came free');
  return flaws;
}
