/** CiliumNodes of mode multi-pool, as Cilium 1.17 writes them. */
import type { KubeObject } from '../../src/model/object.ts';

/** A pool, and how many IPv4 and IPv6 addresses are needed of it. */
export type PoolRequest = readonly [pool: string, ipv4: number, ipv6: number];

export interface PoolsSpec {
  requested?: readonly PoolRequest[];
  allocated?: Readonly<Record<string, readonly string[]>>;
  uid?: string;
}

export function ciliumPools({ requested = [], allocated = {} }: PoolsSpec): object {
  return {
    requested: requested.map(([pool, ipv4, ipv6]) => ({
      pool,
      needed: {
        ...(ipv4 > 0 ? { 'ipv4-addrs': ipv4 } : {}),
        ...(ipv6 > 0 ? { 'ipv6-addrs': ipv6 } : {}),
      },
    })),
    allocated: Object.entries(allocated).map(([pool, cidrs]) => ({ pool, cidrs })),
  };
}

export function ciliumPoolsObject(name: string, spec: PoolsSpec): KubeObject {
  return {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNode',
    metadata: { name, uid: spec.uid ?? `cilium-${name}` },
    spec: { ipam: { pools: ciliumPools(spec) } },
  };
}
