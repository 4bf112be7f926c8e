import type { Pool, PoolStatus, ReadPool } from '../model/ip-pool.ts';
import { poolFinalizer } from '../model/keys.ts';
import type { Condition } from '../model/object.ts';
import { ipPools } from '../model/resources.ts';
import { dated } from '../plan/pools/pool-conditions.ts';
import { desiredPoolStatus } from '../plan/pools/pool-status.ts';
import type { WriterBase } from './operator-base.ts';
import { PoolMetrics } from './pool-metrics.ts';
import type { Worker } from './work-queue.ts';

/**
 * What people see of pools: usage and conditions in the status, written when
 * they differ and not more often than once a second a pool; and the finalizer,
 * without which a pool could vanish under its blocks.
 */
interface PoolWorkerOptions extends WriterBase {
  /** How each IPPool object was read; absent when there is no such object. */
  poolCache: { get(name: string): { read: ReadPool } | undefined; put(raw: unknown): void };
}

export class PoolWorker implements Worker {
  readonly #o: PoolWorkerOptions;
  readonly #metrics: PoolMetrics;
  readonly #holding = new Map<string, Promise<void>>();

  constructor(options: PoolWorkerOptions) {
    this.#o = options;
    this.#metrics = new PoolMetrics(options);
  }

  async reconcile(name: string): Promise<undefined> {
    const read = this.#o.poolCache.get(name)?.read;
    if (read?.kind === 'malformed') return this.#reportMalformed(name, read);
    // First of all, so that a status of our own never makes it a conflict: nodes wait for it.
    await this.hold(name);
    const pool = this.#o.register.poolSet.get(name);
    if (pool === undefined) {
      this.#metrics.forget(name);
      return undefined;
    }
    const nowText = new Date(this.#o.clock.wallMs()).toISOString();
    const status = desiredPoolStatus(this.#o.register, pool, nowText);
    this.#metrics.report(name, status);
    if (read === undefined) return undefined;
    if (pool.deleting && this.#o.register.blocksOfPool(name).size === 0) {
      return this.#removeFinalizer(pool);
    }
    if (!sameStatus(status, pool.status)) await this.#writeStatus(name, status);
    return undefined;
  }

  /** Only a leader reports what it finds. */
  forgetAll(): void {
    this.#metrics.forgetAll();
  }

  /** Puts the finalizer on, once, however many nodes wait for it. */
  hold(name: string): Promise<void> {
    const pool = this.#o.register.poolSet.get(name);
    if (pool === undefined || this.#o.poolCache.get(name) === undefined) return Promise.resolve();
    if (pool.deleting || pool.finalizers.includes(poolFinalizer)) return Promise.resolve();
    const under = this.#holding.get(name);
    if (under !== undefined) return under;
    const holding = this.#writeFinalizers(pool, [...pool.finalizers, poolFinalizer]).finally(() =>
      this.#holding.delete(name),
    );
    this.#holding.set(name, holding);
    return holding;
  }

  async #removeFinalizer(pool: Pool): Promise<undefined> {
    if (!pool.finalizers.includes(poolFinalizer)) return undefined;
    const left = pool.finalizers.filter((finalizer) => finalizer !== poolFinalizer);
    await this.#writeFinalizers(pool, left);
    this.#o.log.info(
      { reason: 'Released', pool: pool.name },
      `pool ${pool.name}: its last block is released; removed the finalizer`,
    );
    return undefined;
  }

  async #writeFinalizers(pool: Pool, finalizers: readonly string[]): Promise<void> {
    this.#o.assertLeading();
    const { uid, resourceVersion } = pool;
    const body = { metadata: { uid, resourceVersion, finalizers } };
    this.#o.poolCache.put(await this.#o.client.patch(ipPools, pool.name, { type: 'merge', body }));
  }

  async #reportMalformed(name: string, read: ReadPool & { kind: 'malformed' }): Promise<undefined> {
    const nowText = new Date(this.#o.clock.wallMs()).toISOString();
    const wanted = malformedStatus(read, read.conditions, nowText);
    const before = { observedGeneration: read.generation, conditions: read.conditions ?? [] };
    if (!sameStatus(wanted, before)) await this.#writeStatus(name, wanted);
    return undefined;
  }

  async #writeStatus(name: string, status: PoolStatus): Promise<void> {
    this.#o.assertLeading();
    const options = { type: 'merge', subresource: 'status', body: { status } } as const;
    this.#o.poolCache.put(await this.#o.client.patch(ipPools, name, options));
  }
}

export function malformedStatus(
  { problems, generation }: { problems: readonly string[]; generation: number },
  before: readonly Condition[] | undefined,
  nowText: string,
): { observedGeneration: number; conditions: Condition[] } {
  const condition: Condition = {
    type: 'Ready',
    status: 'False',
    reason: 'MalformedPool',
    message: problems.join('; '),
    observedGeneration: generation,
  };
  return { observedGeneration: generation, conditions: [dated(condition, before, nowText)] };
}

export function sameStatus(a: object, b: object | undefined): boolean {
  return b !== undefined && JSON.stringify(ordered(a)) === JSON.stringify(ordered(b));
}

/** The API server gives fields back in another order than they were sent in. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, ordered(inner)]),
  );
}
