/**
 * Three replicas, killed and frozen over and over while nodes join en masse and
 * never rest; then the same with an API server that lies. Smaller here than in
 * `npm run soak -- operator-chaos`, and judged by the same judges.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type ChaosReport, chaosLine, runChaos } from './chaos.ts';
import { Cluster } from './cluster.ts';
import { everyFault } from './every-fault.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.registerCrds();
});

afterEach(() => cluster.wipe());
afterAll(() => cluster?.stop());

function mustBeFlawless(report: ChaosReport): void {
  expect(report.verdict.complaints).toEqual([]);
  expect(report.testimony.complaints).toEqual([]);
  expect(report.crashes).toEqual([]);
  expect(report.writesAtRest).toBe(0);
  // Nothing of it was empty.
  const { counted } = report.verdict;
  expect(counted.served).toBe(counted.nodes);
  expect(counted.nodes).toBeGreaterThan(100);
  expect(counted.annotations).toBeGreaterThan(2 * counted.nodes);
  expect(report.strikes.killed).toBeGreaterThan(1);
  expect(report.strikes.frozen).toBeGreaterThan(1);
  expect(report.leadersStruck).toBeGreaterThan(2);
  const seen = report.testimony.counted;
  expect(seen.nodesBorn).toBeGreaterThan(150);
  expect(seen.cooled).toBeGreaterThan(0);
  expect(seen.returned).toBeGreaterThan(0);
  expect(seen.blocksFreed).toBeGreaterThan(0);
  expect(seen.blocksMade).toBe(counted.active + counted.cooling + seen.blocksFreed);
  expect(report.faithful).toBeGreaterThan(100);
  for (const [deed, count] of Object.entries(report.churn)) expect(count, deed).toBeGreaterThan(0);
}

test('leaders die and come back as zombies, and no block is ever given twice, moved or lost', async () => {
  const plan = { seed: 1, joiners: 200, strikes: 7, deedsPerSecond: 40 };
  const report = await runChaos(cluster, plan);
  console.log(chaosLine('chaos', report));
  mustBeFlawless(report);
  expect(report.leaders).toBeGreaterThan(3);
}, 300_000);

test('three that all lead at once do the same work three times, and none of it twice', async () => {
  const plan = {
    seed: 3,
    joiners: 160,
    strikes: 5,
    everyMs: 1_000,
    deedsPerSecond: 40,
    allLead: true,
  };
  const report = await runChaos(cluster, plan);
  console.log(chaosLine('chaos with three leaders', report));
  mustBeFlawless(report);
  // They did get in each other's way.
  expect(report.blockCollisions).toBeGreaterThan(20);
}, 300_000);

test('the same with an API server that refuses, lies, loses answers and lags', async () => {
  const plan = { seed: 2, joiners: 540, strikes: 7, everyMs: 1_800, deedsPerSecond: 40 };
  const report = await runChaos(cluster, { ...plan, faults: everyFault });
  console.log(chaosLine('chaos with faults', report));
  mustBeFlawless(report);
  // Being cut off is the deliberate form of the rarest fault.
  const { freeze: _, ...faults } = report.faults;
  expect(report.strikes.cutOff).toBeGreaterThan(0);
  for (const [kind, count] of Object.entries(faults)) expect(count, kind).toBeGreaterThan(0);
}, 400_000);
