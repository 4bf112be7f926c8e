import type { LoadBalancerPoolStatus } from '../model/load-balancer-pool.ts';
import { loadBalancerPools } from '../model/resources.ts';
import { desiredServicePoolStatus } from '../plan/services/service-pool-status.ts';
import type { WriterBase } from './operator-base.ts';
import { malformedStatus, sameStatus } from './pool-worker.ts';
import type { ServiceCaches } from './service-caches.ts';
import type { Worker } from './work-queue.ts';

/** What people see of pools of Service addresses; written when it differs. */
interface ServicePoolWorkerOptions extends WriterBase {
  caches: ServiceCaches;
}

export class ServicePoolWorker implements Worker {
  readonly #o: ServicePoolWorkerOptions;
  readonly #free;
  readonly #assigned;
  readonly #counted = new Set<string>();

  constructor(options: ServicePoolWorkerOptions) {
    this.#o = options;
    const { metrics } = options;
    this.#free = metrics.gauge(
      'cadastre_service_addresses_free',
      'Service addresses of a pool that could be given now.',
    );
    this.#assigned = metrics.gauge(
      'cadastre_service_addresses_assigned',
      'Service addresses of a pool that Services hold.',
    );
  }

  async reconcile(name: string): Promise<undefined> {
    const { caches, clock } = this.#o;
    if (!caches.isSynced) return undefined;
    const read = caches.pools.get(name);
    const nowText = new Date(clock.wallMs()).toISOString();
    const before = read ?? { generation: 0, status: undefined };
    const wanted =
      read?.kind === 'malformed'
        ? malformedStatus(read, read.status?.conditions, nowText)
        : desiredServicePoolStatus(caches.poolSet(), name, caches.held, before, nowText);
    this.#count(name, wanted);
    if (read === undefined || wanted === undefined) return undefined;
    // Figures of a pool that could be understood once stay beside the complaint.
    if (sameStatus({ ...read.status, ...wanted }, read.status)) return undefined;
    this.#o.assertLeading();
    const options = { type: 'merge', subresource: 'status', body: { status: wanted } } as const;
    caches.pools.put(await this.#o.client.patch(loadBalancerPools, name, options));
    return undefined;
  }

  forgetAll(): void {
    for (const pool of this.#counted) this.#count(pool, undefined);
  }

  #count(pool: string, status: LoadBalancerPoolStatus | undefined): void {
    if (status?.capacity === undefined) {
      this.#free.remove({ pool });
      this.#assigned.remove({ pool });
      this.#counted.delete(pool);
      return;
    }
    this.#counted.add(pool);
    this.#free.set(status.free ?? 0, { pool });
    this.#assigned.set(status.assigned ?? 0, { pool });
  }
}
