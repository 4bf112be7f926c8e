import type { Family } from '../../../net/family.ts';
import type { PrefixFilter } from '../prefix-filters.ts';
import { isExact, type NeighbourGroup } from '../router-side.ts';
import {
  type Dialect,
  familiesOf,
  limitPolicy,
  listName,
  routeMapOut,
  sequence,
} from './dialect.ts';

/** Comware 7, the system of H3C's switches and routers. */
export const h3c: Dialect = {
  name: 'h3c',
  title: 'H3C Comware 7',
  comment: '#',
  isRun: false,
  howTo: 'system-view, paste without these lines; save keeps it.',
  print: (side) => [
    ...familiesOf(side).flatMap((family) =>
      side.filters[family].length === 0
        ? [
            `${listOf(family)} index 10 deny ${family === 'ipv4' ? '0.0.0.0 0' : ':: 0'} less-equal ${family === 'ipv4' ? 32 : 128}`,
          ]
        : side.filters[family].map((filter, at) => prefixLine(family, filter, at)),
    ),
    `route-policy ${routeMapOut} deny node 10`,
    ' quit',
    `bgp ${side.asn}`,
    ...(side.routerId === undefined ? [] : [` router-id ${side.routerId}`]),
    ...side.groups.flatMap(groupLines),
    ...familiesOf(side).flatMap((family) => [
      ` address-family ${family} unicast`,
      ...side.groups
        .filter((group) => group.families.includes(family))
        .flatMap(({ name, maximumPrefixes }) => [
          `  peer ${name} enable`,
          `  peer ${name} prefix-list ${listName(family)} import`,
          `  peer ${name} route-policy ${routeMapOut} export`,
          `  peer ${name} route-limit ${maximumPrefixes[family]} reconnect ${limitPolicy.restartMinutes * 60}`,
        ]),
      '  quit',
    ]),
    ' quit',
  ],
};

const listOf = (family: Family) =>
  `${family === 'ipv4' ? 'ip' : 'ipv6'} prefix-list ${listName(family)}`;

function prefixLine(family: Family, filter: PrefixFilter, at: number): string {
  const { prefix, minLength, maxLength } = filter;
  const bounds = isExact(filter) ? '' : ` greater-equal ${minLength} less-equal ${maxLength}`;
  return `${listOf(family)} index ${sequence(at)} permit ${prefix.first()} ${prefix.length}${bounds}`;
}

function groupLines(group: NeighbourGroup): string[] {
  const { name, asn, isInternal, listenRange } = group;
  const of = ` peer ${name}`;
  return [
    ` group ${name} ${isInternal ? 'internal' : 'external'}`,
    ...(isInternal ? [] : [`${of} as-number ${asn}`]),
    `${of} timer keepalive ${group.keepaliveSeconds} hold ${group.holdSeconds}`,
    ...(group.multihopTtl === undefined || isInternal
      ? []
      : [`${of} ebgp-max-hop ${group.multihopTtl}`]),
    ...(group.ttlSecurityHops === undefined
      ? []
      : [`${of} ttl-security hops ${group.ttlSecurityHops}`]),
    ...(listenRange === undefined
      ? group.neighbours.flatMap(({ node, address }) => [
          ` peer ${address} group ${name}`,
          ` peer ${address} description ${node}`,
        ])
      : [` peer ${listenRange.first()} ${listenRange.length} group ${name}`]),
  ];
}
