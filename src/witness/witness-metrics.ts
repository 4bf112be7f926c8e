import type { Metrics } from '../base/metrics.ts';
import { families } from '../net/family.ts';
import type { SeenRouter } from './connected-router.ts';

/** How many routers are heard, and of which everything is known. */
export function registerWitnessMetrics(metrics: Metrics, seen: () => SeenRouter[]): void {
  const routers = metrics.gauge(
    'cadastre_witness_routers',
    'Routers that are listened to: their whole table is known, a part of it, or they are gone.',
  );
  const complete = metrics.gauge(
    'cadastre_witness_complete',
    'Whether the whole table of a router is known at this moment, by router and family.',
  );
  const age = metrics.gauge(
    'cadastre_witness_age_seconds',
    'Since when a router is not connected any more; 0 while it is.',
  );
  // A family that a router never showed has no series: not every router speaks of both.
  let shown = new Map<string, { router: string; family: string }>();
  metrics.onCollect(() => {
    const counts = { complete: 0, partly: 0, gone: 0 };
    const series: typeof shown = new Map();
    age.clear();
    for (const { table, source } of seen()) {
      if (source.ageSeconds === null) continue;
      const { router, families: known } = table;
      age.set(source.ageSeconds, { router });
      counts[source.holds === 'nothing' ? 'gone' : known.size > 0 ? 'complete' : 'partly']++;
      for (const family of families) {
        const key = `${router} ${family}`;
        if (!known.has(family) && !shown.has(key)) continue;
        series.set(key, { router, family });
        complete.set(known.has(family) ? 1 : 0, { router, family });
      }
    }
    for (const [key, labels] of shown) if (!series.has(key)) complete.remove(labels);
    shown = series;
    for (const [state, count] of Object.entries(counts)) routers.set(count, { state });
  });
}
