import type { NeighbourGroup, RouterSide } from '../router-side.ts';
import {
  type Dialect,
  eqOrRange,
  familiesOf,
  geLe,
  limitPolicy,
  listEntries,
  listName,
  routeMapIn,
  routeMapOut,
  sequence,
} from './dialect.ts';

const word = (family: 'ipv4' | 'ipv6') => (family === 'ipv4' ? 'ip' : 'ipv6');

export const aristaEos: Dialect = {
  name: 'arista-eos',
  title: 'Arista EOS',
  comment: '!',
  isRun: false,
  howTo: 'configure session cadastre, paste, show session-config diffs, commit.',
  print: (side) => [
    ...familiesOf(side).flatMap((family) => [
      `${word(family)} prefix-list ${listName(family)}`,
      ...listEntries(side, family, eqOrRange).map((entry, at) => `   seq ${sequence(at)} ${entry}`),
      '!',
    ]),
    ...routeMaps(side, '   '),
    `router bgp ${side.asn}`,
    ...(side.routerId === undefined ? [] : [`   router-id ${side.routerId}`]),
    ...side.groups.flatMap((group) => {
      const of = `   neighbor ${group.name}`;
      const limit = Math.max(...group.families.map((family) => group.maximumPrefixes[family]));
      return [
        `${of} peer group`,
        `${of} remote-as ${group.asn}`,
        `${of} timers ${group.keepaliveSeconds} ${group.holdSeconds}`,
        ...session(group, of, (hops) => `${of} ttl maximum-hops ${hops}`),
        `${of} route-map ${routeMapOut} out`,
        `${of} maximum-routes ${limit} warning-limit ${limitPolicy.warnPercent} percent`,
        ...(group.listenRange === undefined
          ? group.neighbours.flatMap(({ node, address }) => [
              `   neighbor ${address} peer group ${group.name}`,
              `   neighbor ${address} description ${node}`,
            ])
          : [
              `   bgp listen range ${group.listenRange} peer-group ${group.name} remote-as ${group.asn}`,
            ]),
      ];
    }),
    ...familiesOf(side).flatMap((family) => [
      '   !',
      `   address-family ${family}`,
      ...side.groups.flatMap((group) =>
        group.families.includes(family)
          ? [
              `      neighbor ${group.name} activate`,
              `      neighbor ${group.name} route-map ${routeMapIn(family)} in`,
            ]
          : [`      no neighbor ${group.name} activate`],
      ),
    ]),
  ],
};

export const ciscoIos: Dialect = {
  name: 'cisco-ios',
  title: 'Cisco IOS and IOS-XE',
  comment: '!',
  isRun: false,
  howTo: 'configure terminal, paste, then show ip bgp neighbors; write memory keeps it.',
  print: (side) => [
    ...familiesOf(side).flatMap((family) =>
      listEntries(side, family, geLe).map(
        (entry, at) =>
          `${word(family)} prefix-list ${listName(family)} seq ${sequence(at)} ${entry}`,
      ),
    ),
    '!',
    ...routeMaps(side, ' '),
    `router bgp ${side.asn}`,
    ...(side.routerId === undefined ? [] : [` bgp router-id ${side.routerId}`]),
    ...side.groups.flatMap((group) => {
      const of = ` neighbor ${group.name}`;
      return [
        `${of} peer-group`,
        `${of} remote-as ${group.asn}`,
        `${of} timers ${group.keepaliveSeconds} ${group.holdSeconds}`,
        ...session(group, of, (hops) => `${of} ttl-security hops ${hops}`),
        ...(group.listenRange === undefined
          ? group.neighbours.flatMap(({ node, address }) => [
              ` neighbor ${address} peer-group ${group.name}`,
              ` neighbor ${address} description ${node}`,
            ])
          : [` bgp listen range ${group.listenRange} peer-group ${group.name}`]),
      ];
    }),
    ...familiesOf(side).flatMap((family) => [
      ' !',
      ` address-family ${family}`,
      ...side.groups
        .filter((group) => group.families.includes(family))
        .flatMap((group) => [
          `  neighbor ${group.name} route-map ${routeMapIn(family)} in`,
          `  neighbor ${group.name} route-map ${routeMapOut} out`,
          `  neighbor ${group.name} maximum-prefix ${group.maximumPrefixes[family]} ${limitPolicy.warnPercent} restart ${limitPolicy.restartMinutes}`,
          ...(group.listenRange === undefined
            ? group.neighbours.map(({ address }) => `  neighbor ${address} activate`)
            : [`  neighbor ${group.name} activate`]),
        ]),
      ' exit-address-family',
    ]),
  ],
};

export const ciscoNxos: Dialect = {
  name: 'cisco-nxos',
  title: 'Cisco NX-OS',
  comment: '!',
  isRun: false,
  howTo: 'configure terminal, paste; copy running-config startup-config keeps it.',
  print: (side) => [
    'feature bgp',
    ...familiesOf(side).flatMap((family) =>
      listEntries(side, family, eqOrRange).map(
        (entry, at) =>
          `${word(family)} prefix-list ${listName(family)} seq ${sequence(at)} ${entry}`,
      ),
    ),
    '!',
    ...routeMaps(side, '  '),
    `router bgp ${side.asn}`,
    ...(side.routerId === undefined ? [] : [`  router-id ${side.routerId}`]),
    ...side.groups.flatMap((group) => [
      `  template peer ${group.name}`,
      `    remote-as ${group.asn}`,
      `    timers ${group.keepaliveSeconds} ${group.holdSeconds}`,
      ...session(group, '   ', (hops) => `    ttl-security hops ${hops}`),
      ...group.families.flatMap((family) => [
        `    address-family ${family} unicast`,
        `      route-map ${routeMapIn(family)} in`,
        `      route-map ${routeMapOut} out`,
        `      maximum-prefix ${group.maximumPrefixes[family]} ${limitPolicy.warnPercent} restart ${limitPolicy.restartMinutes}`,
      ]),
      ...(group.listenRange === undefined
        ? group.neighbours.flatMap(({ node, address }) => [
            `  neighbor ${address}`,
            `    inherit peer ${group.name}`,
            `    description ${node}`,
          ])
        : [`  neighbor ${group.listenRange}`, `    inherit peer ${group.name}`]),
    ]),
  ],
};

/** One map for each family: what a match of IPv4 says about an IPv6 route differs by maker. */
function routeMaps(side: RouterSide, indent: string): string[] {
  return [
    ...familiesOf(side).flatMap((family) => [
      `route-map ${routeMapIn(family)} permit 10`,
      `${indent}match ${word(family)} address prefix-list ${listName(family)}`,
      '!',
    ]),
    `route-map ${routeMapOut} deny 10`,
    '!',
  ];
}

function session(
  { multihopTtl, ttlSecurityHops, isInternal }: NeighbourGroup,
  of: string,
  ttlSecurity: (hops: number) => string,
): string[] {
  return [
    ...(multihopTtl === undefined || isInternal ? [] : [`${of} ebgp-multihop ${multihopTtl}`]),
    ...(ttlSecurityHops === undefined ? [] : [ttlSecurity(ttlSecurityHops)]),
  ];
}
