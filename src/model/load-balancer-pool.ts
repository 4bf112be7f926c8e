import type { Family } from '../net/family.ts';
import {
  type AddressRange,
  largestBlockLength,
  parseAddressRange,
} from './bgp-config/address-range.ts';
import type { BgpConfig, ConfiguredPool } from './bgp-config-map.ts';
import type { LabelSelector } from './label-selector.ts';
import {
  type Condition,
  type Identity,
  identityOf,
  type KubeObject,
  textList,
  timestampMs,
} from './object.ts';

/** Addresses for Services, be it a LoadBalancerPool object or an entry of the ConfigMap. */
export interface LoadBalancerPool {
  name: string;
  ranges: readonly AddressRange[];
  serviceSelector: LabelSelector | undefined;
  autoAssign: boolean;
  avoidBuggyIps: boolean;
  priority: number;
  disabled: boolean;
  /** 0 for an entry of the ConfigMap: it is as old as the configuration. */
  createdMs: number;
  /** How its addresses are announced; several for one address are several routes. */
  advertisements: readonly PoolAdvertisement[];
}

export interface PoolAdvertisement {
  lengths: Readonly<Record<Family, number>>;
  /** `64512:100`. Absent in a pool object: there BGPAdvertisements say it. */
  communities?: readonly string[];
  localPref?: number;
}

export interface LoadBalancerPoolStatus {
  observedGeneration: number;
  capacity?: number;
  assigned?: number;
  free?: number;
  conditions: Condition[];
}

export type ReadLoadBalancerPool = Identity & {
  generation: number;
  status: LoadBalancerPoolStatus | undefined;
} & ({ kind: 'pool'; pool: LoadBalancerPool } | { kind: 'malformed'; problems: readonly string[] });

export function readLoadBalancerPool(object: KubeObject): ReadLoadBalancerPool {
  const meta = {
    ...identityOf(object),
    generation: object.metadata?.generation ?? 0,
    status: object.status as LoadBalancerPoolStatus | undefined,
  };
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const ranges: AddressRange[] = [];
  const problems: string[] = [];
  for (const text of textList(spec.addresses)) {
    const parsed = parseAddressRange(text);
    if (typeof parsed === 'string') problems.push(`spec.addresses: ${parsed}`);
    else if (parsed.first.startsWith('::')) {
      // An object's name may not begin with a dash.
      problems.push(`spec.addresses: ${text} lies in ::/16, whose addresses could not be named`);
    } else ranges.push(parsed);
  }
  if (ranges.length + problems.length === 0) problems.push('spec.addresses is empty');
  const lengths = {
    ipv4: 32,
    ipv6: 128,
    ...((spec.aggregationLength ?? {}) as Partial<Record<Family, number>>),
  };
  for (const range of ranges) {
    if (lengths[range.family] >= largestBlockLength(range)) continue;
    problems.push(
      `spec.aggregationLength.${range.family} ${lengths[range.family]} would announce more than ${range.text}`,
    );
  }
  if (problems.length > 0) return { ...meta, kind: 'malformed', problems };
  return {
    ...meta,
    kind: 'pool',
    pool: {
      name: meta.name,
      ranges,
      serviceSelector: (spec.serviceSelector ?? undefined) as LabelSelector | undefined,
      autoAssign: spec.autoAssign !== false,
      avoidBuggyIps: spec.avoidBuggyIPs === true,
      priority: typeof spec.priority === 'number' ? spec.priority : 0,
      disabled: spec.disabled === true || Boolean(object.metadata?.deletionTimestamp),
      createdMs: timestampMs(object.metadata?.creationTimestamp),
      advertisements: [{ lengths }],
    },
  };
}

/** An entry of `address-pools`; one for layer2 is not announced over BGP, so it is not ours. */
export function loadBalancerPoolOfConfig(configured: ConfiguredPool): LoadBalancerPool | undefined {
  const { name, protocol, addresses, autoAssign, avoidBuggyIps, advertisements } = configured;
  if (protocol !== 'bgp') return undefined;
  return {
    name,
    ranges: addresses,
    serviceSelector: undefined,
    autoAssign,
    avoidBuggyIps,
    priority: 0,
    disabled: false,
    createdMs: 0,
    advertisements: advertisements.map((one) => ({
      lengths: { ipv4: one.aggregationLength, ipv6: one.aggregationLengthV6 },
      communities: one.communities.map((value) => `${value >>> 16}:${value & 0xffff}`),
      ...(one.localPref === undefined ? {} : { localPref: one.localPref }),
    })),
  };
}

export function poolsOfConfig({ pools }: BgpConfig): LoadBalancerPool[] {
  return pools.flatMap((pool) => loadBalancerPoolOfConfig(pool) ?? []);
}
