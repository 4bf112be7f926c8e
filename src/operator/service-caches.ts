import { BgpConfigHandler } from '../cluster/bgp-config-handler.ts';
import { cachedItems, clusterCache } from '../cluster/cluster-caches.ts';
import type { CacheState } from '../kube/cache-health.ts';
import type { ListWatch } from '../kube/list-watch.ts';
import type { KeptConfigMap } from '../model/cluster-kinds.ts';
import type { ItemLists } from '../model/cluster-state.ts';
import type { ReadLoadBalancerPool } from '../model/load-balancer-pool.ts';
import type { ClusterService } from '../model/service.ts';
import type { ServiceAddress } from '../model/service-address.ts';
import { HeldAddresses } from '../plan/services/held-addresses.ts';
import { ServicePoolSet } from '../plan/services/service-pools.ts';
import type { ExcludedNetworks } from './excluded-networks.ts';
import { HandlerList } from './handler-list.ts';
import type { OperatorBase } from './operator-base.ts';

/** What is known of Services, their addresses and the pools of them. */
interface ServiceCachesOptions extends OperatorBase {
  configMap: { readonly namespace: string; readonly name: string } | undefined;
  /** Pods' networks, the Services' own inside the cluster, and nodes' addresses. */
  excluded: ExcludedNetworks;
}

export class ServiceCaches {
  readonly onService = new HandlerList<ClusterService>();
  readonly onAddress = new HandlerList<ServiceAddress>();
  readonly onPool = new HandlerList<ReadLoadBalancerPool>();
  /** The BGP ConfigMap has other pools; whoever serves them sets it before the start. */
  onConfig: () => void = () => undefined;
  readonly services: ListWatch<ClusterService>;
  readonly addresses: ListWatch<ServiceAddress>;
  readonly pools: ListWatch<ReadLoadBalancerPool>;
  /** The addresses of all ServiceAddresses. */
  readonly held = new HeldAddresses();
  readonly #config: BgpConfigHandler;
  readonly #configCache: ListWatch<KeptConfigMap> | undefined;
  readonly #o: ServiceCachesOptions;
  readonly #heldBy = new Map<string, Map<string, ServiceAddress>>();
  readonly #owners = new Map<string, ServiceAddress>();
  #listedSinceMs = Number.POSITIVE_INFINITY;
  #isSynced = false;
  /** Made of what was known then; one that is asked for ten thousand times is made once. */
  #poolSet: { key: unknown; set: ServicePoolSet } | undefined;

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
    this.onPool.add({
      onPut: (next, prev) => {
        // Its status is no part of it.
        const isNew = prev?.generation !== next.generation || prev.uid !== next.uid;
        if (isNew || prev.kind !== next.kind) this.#poolSet = undefined;
      },
      onDelete: () => {
        this.#poolSet = undefined;
      },
    });
    this.services = clusterCache('services', options, { handler: this.onService });
    this.addresses = clusterCache('serviceAddresses', options, { handler: this.onAddress });
    this.pools = clusterCache('servicePools', options, { handler: this.onPool });
    this.#config = new BgpConfigHandler(options.log, () => {
      this.#poolSet = undefined;
      this.onConfig();
    });
    this.#configCache =
      configMap &&
      clusterCache('configMaps', options, {
        namespace: configMap.namespace,
        fieldSelector: `metadata.name=${configMap.name}`,
        handler: this.#config,
      });
  }

  /** When the lists that filled the caches began. */
  get listedSinceMs(): number {
    return this.#listedSinceMs;
  }

  /** Each of them, as /readyz looks at it. */
  get states(): readonly CacheState[] {
    const { services, addresses, pools } = this;
    const config = this.#configCache === undefined ? [] : [this.#configCache];
    return [services, addresses, pools, ...config];
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
    const config = this.#configCache === undefined ? [] : [this.#configCache];
    const all = [services, addresses, pools, ...config];
    for (const cache of all) cache.start(signal);
    await Promise.all(all.map(({ synced }) => synced));
    this.#isSynced = true;
  }

  poolSet(): ServicePoolSet {
    const { version } = this.#o.excluded;
    const known = this.#poolSet;
    if (known?.key === version) return known.set;
    const set = this.#makePoolSet();
    this.#poolSet = { key: version, set };
    return set;
  }

  #makePoolSet(): ServicePoolSet {
    const objects = [...this.pools.values()].flatMap((read) =>
      read.kind === 'pool' ? [read.pool] : [],
    );
    return new ServicePoolSet([...this.#config.pools, ...objects], this.#o.excluded.ofServices());
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
    this.held.add(one.address);
  }

  #forget(one: ServiceAddress): void {
    const held = this.#heldBy.get(one.service);
    held?.delete(one.name);
    if (held?.size === 0) this.#heldBy.delete(one.service);
    this.#owners.delete(`${one.address}`);
    this.held.remove(one.address);
  }
}
