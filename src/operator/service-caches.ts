import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { cachedItems, clusterCache } from '../cluster/cluster-caches.ts';
import type { KubeClient } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { Kept } from '../kube/object-cache.ts';
import { loadConfigMapObject } from '../model/bgp-config-map.ts';
import type { ItemLists } from '../model/cluster-state.ts';
import {
  type LoadBalancerPool,
  loadBalancerPoolOfConfig,
  type ReadLoadBalancerPool,
} from '../model/load-balancer-pool.ts';
import { identityOf, type KubeObject } from '../model/object.ts';
import { configMaps } from '../model/resources.ts';
import type { ClusterService } from '../model/service.ts';
import type { ServiceAddress } from '../model/service-address.ts';
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
    this.services = clusterCache('services', options, { handler: this.onService });
    this.addresses = clusterCache('serviceAddresses', options, { handler: this.onAddress });
    this.pools = clusterCache('servicePools', options, { handler: this.onPool });
    this.#config =
      configMap &&
      new ListWatch<Kept>({
        ...options,
        resource: configMaps,
        namespace: configMap.namespace,
        fieldSelector: `metadata.name=${configMap.name}`,
        keep: (raw) => this.#keepConfig(raw as KubeObject),
        handler: this.onConfig,
      });
  }

  /** When the lists that filled the caches began. */
  get listedSinceMs(): number {
    return this.#listedSinceMs;
  }

  /** What they hold of the cluster, for the comparison. */
  get items(): ItemLists {
    const { services, addresses, pools } = this;
    return cachedItems({ services, serviceAddresses: addresses, servicePools: pools });
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
}
