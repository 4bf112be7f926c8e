import type { Family } from '../net/family.ts';
import { specialRanges } from '../net/special-ranges.ts';
import {
  type AddressRange,
  largestBlockLength,
  parseAddressRange,
} from './bgp-config/address-range.ts';
import type { BgpConfig, ConfiguredPool } from './bgp-config-map.ts';
import { type ResourceDefinition, readyStatus } from './crd.ts';
import { type LabelSelector, labelSelector } from './label-selector.ts';
import {
  type Condition,
  type Identity,
  identityOf,
  type KubeObject,
  timestampMs,
} from './object.ts';
import { loadBalancerPools } from './resources.ts';
import * as field from './schema/field.ts';
import { type Check, check, ruled, type ValueOf } from './schema/schema.ts';
import { schemaProblems, withDefaults } from './schema/schema-problems.ts';

const range = field.text('A CIDR, or first-last: 192.0.2.0/28, 192.0.2.10-192.0.2.20.', {
  maxLength: 91,
  ...ruled<string>(
    [
      {
        rule: "isCIDR(self) || (self.split('-').size() == 2 && isIP(self.split('-')[0]) && isIP(self.split('-')[1]) && ip(self.split('-')[0]).family() == ip(self.split('-')[1]).family())",
        messageExpression:
          "'\"' + self + '\" is neither a CIDR nor a range such as 192.0.2.10-192.0.2.20'",
      },
      {
        // Both ends of it: the whole of a range would cost more than a rule may.
        rule: "isCIDR(self) ? cidr(self).ip().isGlobalUnicast() && !self.startsWith('0.') : self.split('-').all(a, !isIP(a) || (ip(a).isGlobalUnicast() && !a.startsWith('0.')))",
        messageExpression: `'"' + self + '" overlaps addresses that are not for Services: ${specialRanges.map(({ cidr }) => cidr).join(', ')}'`,
      },
    ],
    rangeProblems,
  ),
});

const shape = field.object('', ['addresses'], {
  addresses: field.list(
    'The addresses of the pool, of either family, given in this order.',
    64,
    range,
    {
      minItems: 1,
    },
  ),
  serviceSelector: labelSelector('Which Services it serves, by label. Absent or empty: all.'),
  autoAssign: field.flag(
    'Whether it serves Services that ask for neither the pool nor an address of it.',
    { default: true },
  ),
  avoidBuggyIPs: field.flag('Leave out IPv4 addresses that end in .0 and .255.', {
    default: false,
  }),
  priority: field.integer(
    'Among pools that fit a Service the highest is asked first.',
    field.priorityRange,
  ),
  disabled: field.flag('Serve no new Service.', { default: false }),
  aggregationLength: field.lengths(
    'Announce the prefix of this length around an address, as long as it lies inside the pool. Absent: the address alone.',
  ),
});

type LoadBalancerPoolSpec = ValueOf<typeof shape>;

const loadBalancerPoolSpec = { ...shape, [check]: aggregationProblems as Check };

export const loadBalancerPoolDefinition: ResourceDefinition = {
  resource: loadBalancerPools,
  shortName: 'lbp',
  revision: 8,
  digest: '3e33b2a316fec472',
  spec: loadBalancerPoolSpec,
  status: field.object('', [], {
    observedGeneration: field.observedGeneration,
    capacity: field.integer('Addresses in all.'),
    assigned: field.integer('Addresses that Services hold.'),
    free: field.integer('Addresses that could be given now.'),
    conditions: field.conditions,
  }),
  columns: [
    { name: 'Addresses', type: 'string', jsonPath: '.spec.addresses' },
    { name: 'Assigned', type: 'integer', jsonPath: '.status.assigned' },
    { name: 'Free', type: 'integer', jsonPath: '.status.free' },
    { name: 'Capacity', type: 'integer', jsonPath: '.status.capacity' },
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', priority: 1 },
    { name: 'Ready', type: 'string', jsonPath: readyStatus },
  ],
};

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
  const problems = schemaProblems(loadBalancerPoolSpec, object.spec, 'spec');
  if (problems.length > 0) return { ...meta, kind: 'malformed', problems };
  const spec = withDefaults(loadBalancerPoolSpec, object.spec);
  return {
    ...meta,
    kind: 'pool',
    pool: {
      name: meta.name,
      ranges: spec.addresses.map((text) => parseAddressRange(text) as AddressRange),
      serviceSelector: spec.serviceSelector as LabelSelector | undefined,
      autoAssign: spec.autoAssign,
      avoidBuggyIps: spec.avoidBuggyIPs,
      priority: spec.priority,
      disabled: spec.disabled || Boolean(object.metadata?.deletionTimestamp),
      createdMs: timestampMs(object.metadata?.creationTimestamp),
      advertisements: [{ lengths: advertisedLengths(spec) }],
    },
  };
}

/** Also what the API server lets pass: a range that ends before it begins, or cannot be named. */
function rangeProblems(text: string, path: string): string[] {
  const parsed = parseAddressRange(text);
  if (typeof parsed === 'string') return [`${path} ${parsed}`];
  if (/\s/.test(text)) return [`${path} "${text}" has a space in it`];
  // An object's name may not begin with a dash.
  if (!parsed.first.startsWith('::')) return [];
  return [`${path} ${text} lies in ::/16, whose addresses could not be named`];
}

function advertisedLengths({ aggregationLength }: LoadBalancerPoolSpec): Record<Family, number> {
  const { ipv4, ipv6 } = aggregationLength ?? {};
  return { ipv4: ipv4 ?? 32, ipv6: ipv6 ?? 128 };
}

/** Not a rule of the API server: how large a range is, CEL cannot say. */
function aggregationProblems(spec: LoadBalancerPoolSpec, path: string): string[] {
  const lengths = advertisedLengths(spec);
  return spec.addresses.flatMap((text) => {
    const { family, ...range } = parseAddressRange(text) as AddressRange;
    if (lengths[family] >= largestBlockLength({ family, ...range })) return [];
    return `${path}.aggregationLength.${family} ${lengths[family]} would announce more than ${text}`;
  });
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
