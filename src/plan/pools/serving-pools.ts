import type { ClusterState } from '../../model/cluster-state.ts';
import { defaultCooldownSeconds, type Pool } from '../../model/ip-pool.ts';
import type { Mode } from '../../model/modes.ts';
import type { NamedNetwork } from '../../model/network.ts';
import { readClusterPool } from './cluster-pool.ts';

/** The pools that blocks are cut from in this mode, as far as they are known. */
export function servingPools(state: ClusterState, mode: Mode): readonly Pool[] {
  if (mode.pools === 'objects') return state.pools;
  if (mode.pools === 'none') return [];
  const pool = state.clusterPool ?? operatorPool(state) ?? ciliumPool(state);
  return pool === undefined ? [] : [withReserved(pool, state.serviceNetworks)];
}

/**
 * The range in the flags may lie around a Service network, as the defaults of
 * Cilium and kubeadm do: that part is left out, as kube-controller-manager does.
 */
export function withReserved(pool: Pool, networks: readonly NamedNetwork[]): Pool {
  const inside = networks
    .map(({ prefix }) => prefix)
    .filter((prefix) => pool.cidrs.some((cidr) => cidr.overlaps(prefix)))
    .filter((prefix) => !pool.reserved.some((known) => known.equals(prefix)));
  return inside.length === 0 ? pool : { ...pool, reserved: [...pool.reserved, ...inside] };
}

/** The range that the operator was started with. */
function operatorPool({ operator }: ClusterState): Pool | undefined {
  const pool = operator?.clusterPool;
  if (pool === undefined) return undefined;
  const { ipv4, ipv6, cooldownSeconds = defaultCooldownSeconds } = pool;
  const read = readClusterPool({
    enableIpv4: ipv4 !== undefined,
    enableIpv6: ipv6 !== undefined,
    ipv4Cidrs: ipv4?.cidrs ?? [],
    ipv4MaskSize: ipv4?.maskSize ?? 0,
    ipv6Cidrs: ipv6?.cidrs ?? [],
    ipv6MaskSize: ipv6?.maskSize ?? 0,
    reserved: [],
    cooldownSeconds,
    releaseByTimeSeconds: pool.releaseByTimeSeconds,
    maxBlocksPerNode: pool.maxBlocksPerNode,
  });
  return read.kind === 'pool' ? read.pool : undefined;
}

/** The range in cilium-config; one that cannot be understood is said in `sources`, not judged. */
function ciliumPool({ cilium }: ClusterState): Pool | undefined {
  if (cilium === undefined) return undefined;
  const { clusterPool, enabled } = cilium;
  const isOn = {
    ipv4: enabled.ipv4 && clusterPool.ipv4.cidrs.length > 0,
    ipv6: enabled.ipv6 && clusterPool.ipv6.cidrs.length > 0,
  };
  const read = readClusterPool({
    enableIpv4: isOn.ipv4,
    enableIpv6: isOn.ipv6,
    ipv4Cidrs: isOn.ipv4 ? clusterPool.ipv4.cidrs : [],
    ipv4MaskSize: clusterPool.ipv4.maskSize,
    ipv6Cidrs: isOn.ipv6 ? clusterPool.ipv6.cidrs : [],
    ipv6MaskSize: clusterPool.ipv6.maskSize,
    reserved: [],
    cooldownSeconds: defaultCooldownSeconds,
  });
  return read.kind === 'pool' ? read.pool : undefined;
}
