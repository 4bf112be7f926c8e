import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import type { EventRecorder } from '../kube/events.ts';
import { KeyedQueue } from '../kube/keyed-queue.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import type { Resource } from '../kube/resource.ts';
import { loadConfigMapObject } from '../model/bgp-config-map.ts';
import type { ItemLists } from '../model/cluster-state.ts';
import {
  type LoadBalancerPool,
  loadBalancerPoolOfConfig,
  type ReadLoadBalancerPool,
  readLoadBalancerPool,
} from '../model/load-balancer-pool.ts';
import { identityOf, type KubeObject } from '../model/object.ts';
import { configMaps, loadBalancerPools, serviceAddresses, services } from '../model/resources.ts';
import { type ClusterService, readService, serviceKey } from '../model/service.ts';
import { readServiceAddress, type ServiceAddress } from '../model/service-address.ts';
import { compareText } from '../plan/pools/pool-set.ts';
import { type ForeignLand, ServicePoolSet } from '../plan/services/service-pools.ts';
import { ServiceAddressWriter } from './service-address-writer.ts';
import { ServicePoolWorker } from './service-pool-worker.ts';
import { ServiceWorker } from './service-worker.ts';

/**
 * Addresses for Services of type LoadBalancer, beside the blocks of nodes and
 * independent of them: a cluster that forbids to read Services still gets its
 * blocks.
 *
 * The same law holds: creating the ServiceAddress, named after the address, is the
 * allocation. What Services show in their status is a copy of that; what shows
 * there already is taken over before anything new is given.
 */
export interface LoadBalancerOptions {
  client: KubeClient;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  events: EventRecorder;
  assertLeading(): void;
  /** Runs the work of a key if this replica leads. */
  guard(work: () => Promise<unknown>): Promise<void>;
  configMap: { namespace: string; name: string } | undefined;
  /** Pods' networks, and the Services' own inside the cluster. */
  foreignLands(): ForeignLand[];
  isNodeAddress(address: string): boolean;
}

const manyEventsMs = 50;

export class LoadBalancer {
  readonly #o: LoadBalancerOptions;
  readonly #services: ListWatch<ClusterService>;
  readonly #addresses: ListWatch<ServiceAddress>;
  readonly #pools: ListWatch<ReadLoadBalancerPool>;
  readonly #config: ListWatch<Kept> | undefined;
  readonly #worker: ServiceWorker;
  readonly #poolWorker: ServicePoolWorker;
  readonly #serviceQueue: KeyedQueue;
  readonly #poolQueue: KeyedQueue;
  readonly #heldBy = new Map<string, Map<string, ServiceAddress>>();
  readonly #owners = new Map<string, ServiceAddress>();
  #configPools: readonly LoadBalancerPool[] = [];
  #isSynced = false;
  #startedMs = Number.POSITIVE_INFINITY;
  #kick: NodeJS.Timeout | undefined;

  constructor(options: LoadBalancerOptions) {
    this.#o = options;
    const { configMap, client, log, metrics, clock, guard } = options;
    this.#services = this.#copy(services, readService, {
      onPut: (next) => this.#serviceQueue.add(serviceKey(next)),
      onDelete: (last) => this.#serviceQueue.add(serviceKey(last)),
    });
    this.#addresses = this.#copy(serviceAddresses, keepAddress, {
      onPut: (next, prev) => {
        if (prev !== undefined) this.#forget(prev);
        this.#learn(next);
        this.#addressChanged(next);
      },
      onDelete: (last) => {
        this.#forget(last);
        this.#addressChanged(last);
        this.landChanged();
      },
    });
    this.#pools = this.#copy(loadBalancerPools, readLoadBalancerPool, {
      onPut: (next, prev) => {
        this.#poolQueue.add(next.name);
        if (prev?.generation !== next.generation || prev.uid !== next.uid) this.landChanged();
      },
      onDelete: () => this.landChanged(),
    });
    this.#config =
      configMap &&
      this.#copy(configMaps, (object) => this.#keepConfig(object), undefined, {
        namespace: configMap.namespace,
        fieldSelector: `metadata.name=${configMap.name}`,
      });
    const base = { client, log, clock, assertLeading: options.assertLeading };
    this.#worker = new ServiceWorker({
      ...base,
      events: options.events,
      writer: new ServiceAddressWriter({ ...base, store: this.#addresses }),
      serviceOf: (key) => this.#services.get(key),
      serviceStore: this.#services,
      heldBy: (key) => [...(this.#heldBy.get(key)?.values() ?? [])],
      pools: () => this.#poolSet(),
      isTaken: (address, key, uid) => this.#isTaken(address, key, uid),
    });
    this.#poolWorker = new ServicePoolWorker({
      ...base,
      metrics,
      readOf: (name) => this.#pools.get(name),
      store: this.#pools,
      pools: () => this.#poolSet(),
      addresses: () => this.#addresses.values(),
    });
    const unserved = metrics.gauge('cadastre_services_unserved', 'Services that lack an address.');
    metrics.onCollect(() => unserved.set(this.#worker.unserved.size));
    const backoff = { baseMs: 50, capMs: 30_000 };
    const queue = (name: string, work: (key: string) => Promise<unknown>) =>
      new KeyedQueue({
        name,
        concurrency: 8,
        log,
        metrics,
        backoff,
        work: (key) => (this.#isSynced ? guard(() => work(key)) : undefined),
      });
    this.#serviceQueue = queue('services', (key) => this.#worker.reconcile(key));
    this.#poolQueue = queue('service-pools', (name) => this.#poolWorker.reconcile(name));
  }

  /** `onSynced` once everything that exists is known. */
  start(signal: AbortSignal, onSynced: () => void): void {
    this.#startedMs = this.#o.clock.monotonicMs();
    const copies = [this.#services, this.#addresses, this.#pools, this.#config];
    const all = copies.filter((copy) => copy !== undefined) as unknown as ListWatch<Kept>[];
    for (const copy of all) copy.start(signal);
    Promise.all(all.map((copy) => copy.synced)).then(
      () => {
        this.#isSynced = true;
        onSynced();
      },
      () => undefined,
    );
  }

  /** What it knows of the cluster, for the comparison. */
  get items(): ItemLists {
    if (!this.#isSynced) return {};
    return {
      services: this.#services.values(),
      serviceAddresses: this.#addresses.values(),
      servicePools: this.#pools.values(),
    };
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** What Services show already is taken over first; then everybody is served, the oldest first. */
  async takeOver(leadsSinceMs: number, isCurrent: () => boolean): Promise<void> {
    try {
      if (this.#startedMs < leadsSinceMs) await this.#addresses.relist();
      if (!isCurrent()) return;
      const order = [...this.#services.values()].sort(
        (a, b) => a.createdMs - b.createdMs || compareText(serviceKey(a), serviceKey(b)),
      );
      for (const one of order) if (one.ingress.length > 0) this.#serviceQueue.add(serviceKey(one));
      await this.#serviceQueue.idle();
      if (!isCurrent()) return;
      this.#worker.mayAssign = true;
      for (const one of order) if (one.isForUs) this.#serviceQueue.add(serviceKey(one));
      for (const key of this.#heldBy.keys()) this.#serviceQueue.add(key);
      for (const { name } of this.#pools.values()) this.#poolQueue.add(name);
    } catch (error) {
      const words = 'could not take the Services over; trying again';
      this.#o.log.error({ error: describeError(error) }, words);
      setTimeout(() => isCurrent() && void this.takeOver(leadsSinceMs, isCurrent), 1_000).unref();
    }
  }

  stepDown(): void {
    this.#worker.forgetAll();
    this.#poolWorker.forgetAll();
  }

  /** Pools came, went or changed, or an address is free: whoever lacks one is asked again. */
  landChanged(): void {
    this.#kick ??= setTimeout(() => {
      this.#kick = undefined;
      for (const key of this.#worker.unserved.keys()) this.#serviceQueue.add(key);
      // Before the first pool nobody was unserved, because nobody was ours.
      for (const one of this.#services.values()) {
        if (one.isForUs && one.ingress.length === 0) this.#serviceQueue.add(serviceKey(one));
      }
      for (const { name } of this.#pools.values()) this.#poolQueue.add(name);
    }, manyEventsMs);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#kick);
    await Promise.all([this.#serviceQueue.stop(), this.#poolQueue.stop()]);
  }

  #poolSet(): ServicePoolSet {
    const objects = [...this.#pools.values()].flatMap((read) =>
      read.kind === 'pool' ? [read.pool] : [],
    );
    const fromConfig = this.#config?.size ? this.#configPools : [];
    return new ServicePoolSet([...fromConfig, ...objects], this.#o.foreignLands());
  }

  #isTaken(address: string, key: string, uid: string): boolean {
    const owner = this.#owners.get(address);
    if (owner === undefined) return this.#o.isNodeAddress(address);
    return owner.service !== key || owner.serviceUid !== uid;
  }

  #learn(one: ServiceAddress): void {
    const held = this.#heldBy.get(one.service) ?? new Map<string, ServiceAddress>();
    held.set(one.name, one);
    this.#heldBy.set(one.service, held);
    this.#owners.set(`${one.address}`, one);
  }

  #forget(one: ServiceAddress): void {
    const held = this.#heldBy.get(one.service);
    held?.delete(one.name);
    if (held?.size === 0) this.#heldBy.delete(one.service);
    this.#owners.delete(`${one.address}`);
  }

  #addressChanged(one: ServiceAddress): void {
    this.#serviceQueue.add(one.service);
    this.#poolQueue.addAfter(one.pool, 1_000);
  }

  #keepConfig(object: KubeObject): Kept {
    const { name, namespace } = object.metadata ?? {};
    const result = loadConfigMapObject(object as { data?: Record<string, string> });
    if (result.kind === 'config') {
      this.#configPools = result.config.pools.flatMap((pool) => {
        const ours = loadBalancerPoolOfConfig(pool);
        if (ours !== undefined) return [ours];
        this.#o.log.warn({ pool: pool.name }, `pool ${pool.name} is for layer2: it is not served`);
        return [];
      });
      this.landChanged();
    } else {
      const problems = result.problems.map(({ line, key, sentence }) =>
        [`${line}`, key, sentence].filter((part) => part !== '').join(': '),
      );
      const fields = { reason: 'MalformedConfig', configMap: `${namespace}/${name}`, problems };
      this.#o.log.error(fields, 'the configuration cannot be used; the last good one stays');
    }
    return { ...identityOf(object), namespace };
  }

  #copy<T extends Kept>(
    resource: Resource,
    keep: (object: KubeObject) => T,
    handler?: CacheHandler<T>,
    where: { namespace?: string; fieldSelector?: string } = {},
  ): ListWatch<T> {
    const { client, clock, log, metrics } = this.#o;
    return new ListWatch<T>({
      client,
      clock,
      log,
      metrics,
      resource,
      ...where,
      keep: (raw) => keep(raw as KubeObject),
      ...(handler === undefined ? {} : { handler }),
    });
  }
}

function keepAddress(object: KubeObject): ServiceAddress {
  const read = readServiceAddress(object);
  if (read === undefined) throw new Error('MalformedBlock: spec.address is no address');
  return read;
}
