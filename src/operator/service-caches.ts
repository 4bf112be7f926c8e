import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';
import type { Resource } from '../kube/resource.ts';
import { loadConfigMapObject } from '../model/bgp-config-map.ts';
import {
  type LoadBalancerPool,
  loadBalancerPoolOfConfig,
  type ReadLoadBalancerPool,
  readLoadBalancerPool,
} from '../model/load-balancer-pool.ts';
import { identityOf, type KubeObject } from '../model/object.ts';
import { configMaps, loadBalancerPools, serviceAddresses, services } from '../model/resources.ts';
import { type ClusterService, readService } from '../model/service.ts';
import { readServiceAddress, type ServiceAddress } from '../model/service-address.ts';
import { ServicePoolSet } from '../plan/services/service-pools.ts';
import type { ForeignLand } from './foreign-land.ts';
import { HandlerList } from './handler-list.ts';

/** What is known of Services, their addresses and the pools of them. */
export interface ServiceCachesOptions {
  client: KubeClient;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  configMap: { readonly namespace: string; readonly name: string } | undefined;
  /** Pods' networks, the Services' own inside the cluster, and nodes' addresses. */
  excluded: ForeignLand;
}

export class ServiceCaches {
  readonly onService = new HandlerList<ClusterService>();
  readonly onAddress = new HandlerList<ServiceAddress>();
  readonly onPool = new HandlerList<ReadLoadBalancerPool>();
  readonly onConfig = new HandlerList<Kept>();
  readonly services: ListWatch<ClusterService>;
  readonly addresses: ListWatch<ServiceAddress>;
  readonly pools: ListWatch<ReadLoadBalancerPool>;
  readonly #config: ListWatch<Kept> | undefined;
  readonly #o: ServiceCachesOptions;
  readonly #heldBy = new Map<string, Map<string, ServiceAddress>>();
  readonly #owners = new Map<string, ServiceAddress>();
  /** Of the last good configuration. */
  #configPools: readonly LoadBalancerPool[] = [];
  #listedSinceMs = Number.POSITIVE_INFINITY;
  #isSynced = false;

  constructor(options: ServiceCachesOptions) {
    this.#o = options;
    const { configMap } = options;
    this.onAddress.add({
      onPut: (next, prev) => {
        if (prev !== undefined) this.#forget(prev);
        this.#learn(next);
      },
      onDelete: (last) => this.#forget(last),
    });
    this.services = this.#cache(services, readService, this.onService);
    this.addresses = this.#cache(serviceAddresses, keepAddress, this.onAddress);
    this.pools = this.#cache(loadBalancerPools, readLoadBalancerPool, this.onPool);
    this.#config =
      configMap &&
      this.#cache(configMaps, (object) => this.#keepConfig(object), this.onConfig, {
        namespace: configMap.namespace,
        fieldSelector: `metadata.name=${configMap.name}`,
      });
  }

  /** When the lists that filled the caches began. */
  get listedSinceMs(): number {
    return this.#listedSinceMs;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Resolves once all are synced; rejects when stopped before. */
  async start(signal: AbortSignal): Promise<void> {
    this.#listedSinceMs = this.#o.clock.monotonicMs();
    const { services, addresses, pools } = this;
    const all = [services, addresses, pools, ...(this.#config === undefined ? [] : [this.#config])];
    for (const cache of all) cache.start(signal);
    await Promise.all(all.map(({ synced }) => synced));
    this.#isSynced = true;
  }

  poolSet(): ServicePoolSet {
    const objects = [...this.pools.values()].flatMap((read) =>
      read.kind === 'pool' ? [read.pool] : [],
    );
    const fromConfig = this.#config?.size ? this.#configPools : [];
    return new ServicePoolSet([...fromConfig, ...objects], this.#o.excluded.ofServices());
  }

  /** Keys of Services that hold addresses, be they there or gone. */
  holders(): IterableIterator<string> {
    return this.#heldBy.keys();
  }

  heldBy(service: string): readonly ServiceAddress[] {
    return [...(this.#heldBy.get(service)?.values() ?? [])];
  }

  /** Whether somebody other than this very Service has it. */
  isTaken(address: string, service: string, uid: string): boolean {
    const owner = this.#owners.get(address);
    if (owner === undefined) return this.#o.excluded.isOfNode(address);
    return owner.service !== service || owner.serviceUid !== uid;
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

  #keepConfig(object: KubeObject): Kept {
    const { name, namespace } = object.metadata ?? {};
    const result = loadConfigMapObject(object as { data?: Record<string, string> });
    if (result.kind === 'config') {
      this.#configPools = result.config.pools.flatMap((pool) => {
        const ours = loadBalancerPoolOfConfig(pool);
        if (ours !== undefined) return [ours];
        this.#o.log.warn(
          { pool: pool.name },
          `pool ${pool.name} of the BGP ConfigMap is for layer2, not bgp: it is not served`,
        );
        return [];
      });
    } else {
      const problems = result.problems.map(({ line, key, sentence }) =>
        [`${line}`, key, sentence].filter((part) => part !== '').join(': '),
      );
      const fields = { reason: 'MalformedConfig', configMap: `${namespace}/${name}`, problems };
      this.#o.log.error(fields, 'the BGP ConfigMap is malformed; the last good one stays in use');
    }
    return { ...identityOf(object), namespace };
  }

  #cache<T extends Kept>(
    resource: Resource,
    keep: (object: KubeObject) => T,
    handler: CacheHandler<T>,
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
      handler,
    });
  }
}

function keepAddress(object: KubeObject): ServiceAddress {
  const read = readServiceAddress(object);
  if (read === undefined) throw new Error('ServiceAddress: spec.address is not an IP address');
  return read;
}
