import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

/**
 * What every process says about itself, under the names that every Prometheus
 * dashboard knows. Returns a function that stops measuring.
 */
export function registerProcessMetrics(metrics: Metrics, version: string): () => void {
  metrics
    .gauge('cadastre_build_info', 'Always 1; the version is in the labels.')
    .set(1, { version, nodejs: process.versions.node });
  const start = metrics.gauge(
    'process_start_time_seconds',
    'Start time of the process since the Unix epoch.',
  );
  const memory = metrics.gauge('process_resident_memory_bytes', 'Resident memory size.');
  const heap = metrics.gauge('nodejs_heap_size_used_bytes', 'Heap in use.');
  const cpu = metrics.counter('process_cpu_seconds_total', 'User and system CPU time spent.');
  const lag = (which: string) =>
    metrics.gauge(
      `nodejs_eventloop_lag_${which}_seconds`,
      `Delay of the event loop since the last scrape: ${which}.`,
    );
  const lags = { p50: lag('p50'), p99: lag('p99'), max: lag('max') };
  const delay = monitorEventLoopDelay({ resolution: sampleMs });
  delay.enable();
  start.set(Math.round(performance.timeOrigin) / 1000);
  let cpuSeconds = 0;
  metrics.onCollect(() => {
    const usage = process.memoryUsage();
    memory.set(usage.rss);
    heap.set(usage.heapUsed);
    const { user, system } = process.cpuUsage();
    const now = (user + system) / 1e6;
    cpu.inc({}, now - cpuSeconds);
    cpuSeconds = now;
    lags.p50.set(lagSeconds(delay.percentile(50)));
    lags.p99.set(lagSeconds(delay.percentile(99)));
    lags.max.set(lagSeconds(delay.max));
    delay.reset();
  });
  return () => delay.disable();
}

/** What is measured is the time between two samples, so it is never less than this. */
const sampleMs = 10;

/** NaN until the first sample. */
function lagSeconds(betweenSamplesNs: number): number {
  return Math.max(0, betweenSamplesNs / 1e9 - sampleMs / 1000) || 0;
}
