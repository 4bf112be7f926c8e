/** How full each pool is, for those who are paged. Only a leader reports: replicas would count twice. */
import type { Clock } from '../base/clock.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';
import type { PoolStatus } from '../model/ip-pool.ts';
import { type BlockPhase, blockPhases } from '../model/node-block.ts';
import type { Register } from '../plan/blocks/register.ts';
import { poolForecast } from '../plan/pools/pool-forecast.ts';

interface PoolMetricsOptions {
  metrics: Metrics;
  register: Register;
  clock: Clock;
}

const figures = ['capacity', 'assigned', 'free', 'cooling'] as const;

export class PoolMetrics {
  readonly #o: PoolMetricsOptions;
  readonly #figures: Record<(typeof figures)[number], Gauge>;
  readonly #awaiting: Gauge;
  readonly #blocks: Gauge;
  readonly #fullIn: Gauge;
  readonly #reported = new Set<string>();

  constructor(options: PoolMetricsOptions) {
    this.#o = options;
    const { metrics } = options;
    const figure = (what: string) =>
      metrics.gauge(`cadastre_pool_blocks_${what}`, `Blocks of a pool: ${what}.`);
    this.#figures = {
      capacity: figure('capacity'),
      assigned: figure('assigned'),
      free: figure('free'),
      cooling: figure('cooling'),
    };
    this.#awaiting = metrics.gauge(
      'cadastre_blocks_awaiting_release',
      'Blocks whose cool-down is over, but nobody says that their old node does not use them.',
    );
    this.#blocks = metrics.gauge('cadastre_blocks', 'NodeBlocks by pool and phase.');
    this.#fullIn = metrics.gauge(
      'cadastre_pool_full_in_seconds',
      'When a pool will be full at the pace of the last thirty days; absent if nothing is foretold.',
    );
    metrics.onCollect(() => this.#collect());
  }

  report(pool: string, status: PoolStatus): void {
    for (const what of figures) this.#figures[what].set(status[what] ?? 0, { pool });
    this.#awaiting.set(status.awaitingRelease ?? 0, { pool });
    this.#reported.add(pool);
  }

  forget(pool: string): void {
    for (const what of figures) this.#figures[what].remove({ pool });
    this.#awaiting.remove({ pool });
    this.#reported.delete(pool);
  }

  forgetAll(): void {
    for (const pool of this.#reported) this.forget(pool);
  }

  /** What changes by time alone, or is asked for once in a while, is counted when somebody scrapes. */
  #collect(): void {
    const { register, clock } = this.#o;
    this.#blocks.clear();
    this.#fullIn.clear();
    for (const name of this.#reported) {
      const counts = new Map<BlockPhase, number>(blockPhases.map((phase) => [phase, 0]));
      for (const { phase } of register.blocksOfPool(name)) {
        counts.set(phase, (counts.get(phase) ?? 0) + 1);
      }
      for (const [phase, count] of counts) this.#blocks.set(count, { pool: name, phase });
      const pool = register.poolSet.get(name);
      const forecast = pool && poolForecast(register, pool, clock.wallMs());
      if (forecast !== undefined) this.#fullIn.set(forecast.days * 86_400, { pool: name });
    }
  }
}
