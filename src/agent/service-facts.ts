import type { FollowedCache } from '../cluster/followed-cache.ts';
import type { ReadyEndpoints } from '../model/endpoint-slice.ts';
import type { LoadBalancerPool, ReadLoadBalancerPool } from '../model/load-balancer-pool.ts';
import { type ClusterService, serviceKey } from '../model/service.ts';
import type { ServiceAddress } from '../model/service-address.ts';
import type { ServiceFacts } from '../plan/services/service-announcements.ts';

export interface ServiceCachesOfNode {
  readonly services: FollowedCache<ClusterService>;
  readonly endpoints: FollowedCache<ReadyEndpoints>;
  readonly addresses: FollowedCache<ServiceAddress>;
  readonly pools: FollowedCache<ReadLoadBalancerPool>;
}

/** What one node needs to know of Services to announce their addresses. */
export function serviceFacts(
  nodeName: string,
  { services, endpoints, addresses, pools }: ServiceCachesOfNode,
  configured: readonly LoadBalancerPool[],
): ServiceFacts {
  const ready = new Set<string>();
  for (const { service, nodes } of endpoints.values()) {
    if (nodes.includes(nodeName)) ready.add(service);
  }
  return {
    services: [...services.values()]
      .filter(({ isForUs, ingress }) => isForUs && ingress.length > 0)
      .map((one) => ({
        key: serviceKey(one),
        uid: one.uid,
        ingress: one.ingress,
        isLocal: one.isLocal,
        hasReady: ready.has(serviceKey(one)),
      })),
    addresses: [...addresses.values()].map(({ address, pool, service, serviceUid }) => ({
      address: address.toString(),
      pool,
      service,
      serviceUid,
    })),
    pools: [
      ...configured,
      ...[...pools.values()].flatMap((read) => (read.kind === 'pool' ? [read.pool] : [])),
    ],
  };
}
