import { describeError } from '../base/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import { serviceKey } from '../model/service.ts';
import type { ServiceAddress } from '../model/service-address.ts';
import { compareText } from '../plan/pools/pool-set.ts';
import type { WriterBase } from './operator-base.ts';
import { ServiceAddressWriter } from './service-address-writer.ts';
import type { ServiceCaches } from './service-caches.ts';
import { ServicePoolWorker } from './service-pool-worker.ts';
import { ServiceWorker } from './service-worker.ts';
import type { Term, Terms } from './terms.ts';
import { WorkQueue } from './work-queue.ts';

/**
 * Addresses for Services of type LoadBalancer, beside the blocks of nodes and
 * independent of them: a cluster that forbids to read Services still gets its
 * blocks.
 *
 * The same law holds: creating the ServiceAddress, named after the address, is the
 * allocation. What Services show in their status follows from that; what shows
 * there already is adopted before anything new is given.
 */
interface LoadBalancerOptions extends WriterBase {
  events: EventRecorder;
  terms: Terms;
  caches: ServiceCaches;
}

const manyEventsMs = 50;
const poolStatusEveryMs = 1_000;
const takeOverAgainMs = 1_000;
const concurrency = 8;

export class LoadBalancer {
  readonly #o: LoadBalancerOptions;
  readonly #worker: ServiceWorker;
  readonly #poolWorker: ServicePoolWorker;
  readonly #serviceQueue: WorkQueue;
  readonly #poolQueue: WorkQueue;
  /** The term in which Services were taken over, or are being. */
  #served: Term | undefined;
  #mayAssign = false;
  #retryUnserved: NodeJS.Timeout | undefined;

  constructor(options: LoadBalancerOptions) {
    this.#o = options;
    const { caches, terms, log, metrics } = options;
    this.#worker = new ServiceWorker({
      ...options,
      writer: new ServiceAddressWriter({ ...options, store: caches.addresses }),
      mayAssign: () => this.#mayAssign,
    });
    this.#poolWorker = new ServicePoolWorker(options);
    const base = { concurrency, terms, log, metrics };
    this.#serviceQueue = new WorkQueue({ ...base, name: 'services', worker: this.#worker });
    this.#poolQueue = new WorkQueue({ ...base, name: 'service-pools', worker: this.#poolWorker });
    const unserved = metrics.gauge('cadastre_services_unserved', 'Services that lack an address.');
    metrics.onCollect(() => unserved.set(this.#worker.unserved.size));
    this.#listen(caches);
  }

  /** In a term that serves: what Services show is adopted first; then each is served, the oldest first. */
  async takeOver(term: Term): Promise<void> {
    if (!this.#o.caches.isSynced || !term.isServing || term.isOver || this.#served === term) return;
    this.#served = term;
    const { caches, log } = this.#o;
    try {
      if (caches.listedSinceMs < term.sinceMs) await caches.addresses.relist();
      if (term.isOver) return;
      const order = [...caches.services.values()].sort(
        (a, b) => a.createdMs - b.createdMs || compareText(serviceKey(a), serviceKey(b)),
      );
      for (const one of order) if (one.ingress.length > 0) this.#serviceQueue.add(serviceKey(one));
      await this.#serviceQueue.idle();
      if (term.isOver) return;
      this.#mayAssign = true;
      for (const one of order) if (one.isForUs) this.#serviceQueue.add(serviceKey(one));
      for (const key of caches.holders()) this.#serviceQueue.add(key);
      for (const { name } of caches.pools.values()) this.#poolQueue.add(name);
    } catch (error) {
      const message = 'could not adopt Service addresses after winning the lease; trying again';
      log.error({ error: describeError(error) }, message);
      this.#served = undefined;
      setTimeout(() => void this.takeOver(term), takeOverAgainMs).unref();
    }
  }

  /** This replica no longer leads. */
  forgetAll(): void {
    this.#mayAssign = false;
    this.#worker.forgetAll();
    this.#poolWorker.forgetAll();
  }

  /** Pools came, went or changed, or an address is free: Services that lack one are tried again. */
  addressSpaceChanged(): void {
    this.#retryUnserved ??= setTimeout(() => {
      this.#retryUnserved = undefined;
      for (const key of this.#worker.unserved.keys()) this.#serviceQueue.add(key);
      // Before the first pool nobody was unserved, because nobody was ours.
      for (const one of this.#o.caches.services.values()) {
        if (one.isForUs && one.ingress.length === 0) this.#serviceQueue.add(serviceKey(one));
      }
      for (const { name } of this.#o.caches.pools.values()) this.#poolQueue.add(name);
    }, manyEventsMs);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#retryUnserved);
    await Promise.all([this.#serviceQueue.stop(), this.#poolQueue.stop()]);
  }

  #listen(caches: ServiceCaches): void {
    const { onService, onAddress, onPool } = caches;
    onService.add({
      onPut: (next) => this.#serviceQueue.add(serviceKey(next)),
      onDelete: (last) => this.#serviceQueue.add(serviceKey(last)),
    });
    onAddress.add({
      onPut: (next) => this.#addressChanged(next),
      onDelete: (last) => {
        this.#addressChanged(last);
        this.addressSpaceChanged();
      },
    });
    onPool.add({
      onPut: (next, prev) => {
        this.#poolQueue.add(next.name);
        const isNew = prev?.generation !== next.generation || prev.uid !== next.uid;
        if (isNew) this.addressSpaceChanged();
      },
      onDelete: () => this.addressSpaceChanged(),
    });
    caches.onConfig = () => this.addressSpaceChanged();
  }

  #addressChanged(one: ServiceAddress): void {
    this.#serviceQueue.add(one.service);
    this.#poolQueue.addAfter(one.pool, poolStatusEveryMs);
  }
}
