import { defaultCooldownSeconds, type Pool } from '../../model/ip-pool.ts';
import { readClusterPool } from '../pools/cluster-pool.ts';
import type { Evidence } from './evidence.ts';
import type { Truth } from './truth.ts';

/** The pools that blocks are cut from in this mode, as far as they are known. */
export function poolsOf(evidence: Evidence, { mode }: Truth): readonly Pool[] {
  if (mode === 'ip-pool') return evidence.pools;
  if (mode !== 'cluster-pool' && mode !== 'cluster-pool-v2') return [];
  const pool = evidence.clusterPool ?? ciliumPool(evidence);
  return pool === undefined ? [] : [pool];
}

/** The range in cilium-config; one that cannot be understood is said in `sources`, not judged. */
function ciliumPool({ cilium }: Evidence): Pool | undefined {
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
