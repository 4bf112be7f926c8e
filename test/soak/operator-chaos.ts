/**
 * `npm run soak -- operator-chaos [MINUTES] [SEED]`: the story of
 * test/world/chaos.test.ts for as long as you like, with thousands of nodes.
 * The first half with an honest API server, the second with one that lies. Ends
 * with one line for each half and exit code 1 if any judge complains.
 */
import { type ChaosPlan, type ChaosReport, chaosLine, runChaos } from '../world/chaos.ts';
import { Cluster } from '../world/cluster.ts';
import { everyFault } from '../world/every-fault.ts';

const minutes = Number(process.argv[2] ?? 14);
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1e6));
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('usage: npm run soak -- operator-chaos [MINUTES] [SEED]');
  process.exit(2);
}

const half: ChaosPlan = {
  seed,
  joiners: 2_000,
  strikes: Number.POSITIVE_INFINITY,
  forMs: (minutes * 60_000) / 2,
  everyMs: 1_000,
  deedsPerSecond: 60,
  settleWithinMs: 180_000,
};

console.log(`operator-chaos: ${minutes} minutes, seed ${seed}`);
const cluster = await Cluster.start();
try {
  await cluster.registerCrds();
  const honest = await tell('chaos', half);
  await cluster.wipe();
  const lying = await tell('chaos with faults', { ...half, seed: seed + 1, faults: everyFault });
  const flaws = [...flawsOf(honest), ...flawsOf(lying)];
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
