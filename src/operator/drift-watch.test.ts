import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { block, cleanWorlds } from '../../test/doctor/worlds.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Evidence } from '../plan/doctor/evidence.ts';
import { DriftWatch } from './drift-watch.ts';

const everyMs = 30_000;
let seen: Evidence;
let passes: number;
let metrics: Metrics;
let stop: AbortController;
let watch: DriftWatch;

beforeEach(() => {
  vi.useFakeTimers();
  seen = cleanWorlds['ip-pool of Cadastre']();
  passes = 0;
  metrics = new Metrics();
  watch = new DriftWatch({
    // Conditions are another story's; here every node has what it should have.
    client: { patch: async () => ({}) } as unknown as KubeClient,
    clock: systemClock,
    log: silentLog,
    metrics,
    everyMs,
    evidence: () => {
      passes += 1;
      return { ...seen, nowMs: Date.now() };
    },
    nodeCache: { get: (name) => seen.nodes.find((node) => node.name === name), put: () => {} },
    terms: { mayAssign: true },
    nodeQueue: { isBusy: false },
    reporter: { findings: new Map(), event: () => {} },
  });
  stop = new AbortController();
  void watch.run(stop.signal);
});

afterEach(() => {
  stop.abort();
  vi.useRealTimers();
});

/** A pass asks for the evidence twice: to judge, and for the conditions. */
const passesWithin = async (ms: number) => {
  const before = passes;
  await vi.advanceTimersByTimeAsync(ms);
  return (passes - before) / 2;
};

test('without a change no pass is made, but for one in ten turns: some faults come by waiting', async () => {
  expect(await passesWithin(everyMs + 5_000)).toBe(1);
  expect(await passesWithin(8 * everyMs)).toBe(0);
  expect(await passesWithin(2 * everyMs)).toBe(1);
  watch.changed();
  expect(await passesWithin(everyMs)).toBe(1);
});

test('a block that cools for too long is reported although nothing changes', async () => {
  const cooling = block('10.1.7.0/24', 'gone', { phase: 'Cooling', coolingSinceMs: Date.now() });
  seen = { ...seen, blocks: [...seen.blocks, cooling] };
  const isReported = () =>
    /cadastre_drift_findings\{reason="StrandedBlock"\} 1/.test(metrics.text());
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect(isReported()).toBe(false);
  await vi.advanceTimersByTimeAsync(12 * 60_000);
  expect(isReported()).toBe(true);
});
