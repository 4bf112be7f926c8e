import type { Kept } from '../kube/object-cache.ts';
import type { Resource } from '../kube/resource.ts';
import { type LocalEndpoints, readLocalEndpoints } from '../model/endpoint-slice.ts';
import {
  type LoadBalancerPool,
  type ReadLoadBalancerPool,
  readLoadBalancerPool,
} from '../model/load-balancer-pool.ts';
import type { KubeObject } from '../model/object.ts';
import {
  endpointSlices,
  loadBalancerPools,
  serviceAddresses,
  services,
} from '../model/resources.ts';
import { type ClusterService, readService, serviceKey } from '../model/service.ts';
import { readServiceAddress, type ServiceAddress } from '../model/service-address.ts';
import type { ServiceFacts } from '../plan/services/service-announcements.ts';
import type { FollowedCache } from './followed-cache.ts';

type MakeCache = <T extends Kept>(
  resource: Resource,
  read: (object: KubeObject) => T,
  /** What is kept differs from node to node. */
  isPerNode?: boolean,
) => FollowedCache<T>;

/**
 * What the node knows of Services. Each cache is fenced by resource version: an
 * event that comes late, or twice, changes nothing, and no order between the four
 * is assumed, since everything is judged anew from all of them.
 */
export class ServiceCaches {
  readonly #services: FollowedCache<ClusterService>;
  readonly #endpoints: FollowedCache<LocalEndpoints>;
  readonly #addresses: FollowedCache<ServiceAddress>;
  readonly #pools: FollowedCache<ReadLoadBalancerPool>;

  constructor(nodeName: string, cacheOf: MakeCache) {
    this.#services = cacheOf(services, readService);
    const isPerNode = true;
    this.#endpoints = cacheOf(
      endpointSlices,
      (object) => readLocalEndpoints(object, nodeName),
      isPerNode,
    );
    this.#addresses = cacheOf(serviceAddresses, (object) => {
      const read = readServiceAddress(object);
      if (read === undefined) throw new Error('MalformedBlock: spec.address is no address');
      return read;
    });
    this.#pools = cacheOf(loadBalancerPools, readLoadBalancerPool);
  }

  get all(): readonly unknown[] {
    return [this.#services, this.#endpoints, this.#addresses, this.#pools];
  }

  facts(configured: readonly LoadBalancerPool[]): ServiceFacts {
    const ready = new Set<string>();
    for (const { service, hasReady } of this.#endpoints.values()) if (hasReady) ready.add(service);
    return {
      services: [...this.#services.values()]
        .filter(({ isForUs, ingress }) => isForUs && ingress.length > 0)
        .map((one) => ({
          key: serviceKey(one),
          uid: one.uid,
          ingress: one.ingress,
          isLocal: one.isLocal,
          hasReady: ready.has(serviceKey(one)),
        })),
      addresses: [...this.#addresses.values()].map(({ address, pool, service, serviceUid }) => ({
        address: address.toString(),
        pool,
        service,
        serviceUid,
      })),
      pools: [
        ...configured,
        ...[...this.#pools.values()].flatMap((read) => (read.kind === 'pool' ? [read.pool] : [])),
      ],
    };
  }
}
