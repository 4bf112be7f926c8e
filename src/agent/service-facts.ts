import type { FollowedCache } from '../cluster/followed-cache.ts';
import type { ReadyEndpoints } from '../model/endpoint-slice.ts';
import type { LoadBalancerPool, ReadLoadBalancerPool } from '../model/load-balancer-pool.ts';
import type { ClusterNode } from '../model/node.ts';
import { type ClusterService, serviceKey } from '../model/service.ts';
import type { ServiceAddress } from '../model/service-address.ts';
import { hasLeavingSign } from '../plan/node/leaving.ts';
import type { ServiceFacts } from '../plan/services/service-announcements.ts';

export interface ServiceCachesOfNode {
  readonly services: FollowedCache<ClusterService>;
  readonly endpoints: FollowedCache<ReadyEndpoints>;
  readonly addresses: FollowedCache<ServiceAddress>;
  readonly pools: FollowedCache<ReadLoadBalancerPool>;
}

/** The other nodes that announce Services, and stay. */
export interface OtherAnnouncers {
  has(name: string): boolean;
  readonly isAnyThere: boolean;
}

/** What one node needs to know of Services to announce their addresses. */
export function serviceFacts(
  node: ClusterNode,
  { services, endpoints, addresses, pools }: ServiceCachesOfNode,
  configured: readonly LoadBalancerPool[],
  others: OtherAnnouncers,
): ServiceFacts {
  const ready = new Set<string>();
  const ending = new Set<string>();
  const elsewhere = new Set<string>();
  const isLeaving = hasLeavingSign(node);
  for (const { service, nodes, ending: ends = [] } of endpoints.values()) {
    if (nodes.includes(node.name)) ready.add(service);
    if (ends.includes(node.name)) ending.add(service);
    if (nodes.some((name) => name !== node.name && others.has(name))) elsewhere.add(service);
  }
  const isOnlyHere = (key: string, isLocal: boolean) => {
    if (!isLeaving && !ending.has(key)) return false;
    return isLocal ? !elsewhere.has(key) : !others.isAnyThere;
  };
  return {
    services: [...services.values()]
      .filter(({ isForUs, ingress }) => isForUs && ingress.length > 0)
      .map((one) => {
        const key = serviceKey(one);
        return {
          key,
          uid: one.uid,
          ingress: one.ingress,
          isLocal: one.isLocal,
          hasReady: ready.has(key),
          ...(ending.has(key) ? { hasEnding: true as const } : {}),
          ...(isOnlyHere(key, one.isLocal) ? { isOnlyHere: true as const } : {}),
        };
      }),
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
