import type { NeighbourGroup, RouterSide } from '../router-side.ts';
import {
  type Dialect,
  familiesOf,
  geLe,
  limitPolicy,
  listEntries,
  listName,
  routeMapIn,
  routeMapOut,
  sequence,
} from './dialect.ts';

export const frr: Dialect = {
  name: 'frr',
  title: 'FRR',
  comment: '!',
  isRun: true,
  howTo: 'vtysh -f FILE adds it to a running router; write memory keeps it.',
  print: frrLines,
};

/** SONiC's routing stack is FRR; its own tables of neighbours know no filters of this kind. */
export const sonic: Dialect = {
  name: 'sonic',
  title: 'SONiC (FRR)',
  comment: '!',
  isRun: false,
  howTo:
    'With docker_routing_config_mode split: vtysh -f FILE in the bgp container, then write memory.',
  print: frrLines,
};

function frrLines(side: RouterSide): string[] {
  return [
    ...familiesOf(side).flatMap((family) =>
      listEntries(side, family, geLe).map(
        (entry, at) =>
          `${family === 'ipv4' ? 'ip' : 'ipv6'} prefix-list ${listName(family)} seq ${sequence(at)} ${entry}`,
      ),
    ),
    '!',
    ...familiesOf(side).flatMap((family) => [
      `route-map ${routeMapIn(family)} permit 10`,
      ` match ${family === 'ipv4' ? 'ip' : 'ipv6'} address prefix-list ${listName(family)}`,
      'exit',
    ]),
    `route-map ${routeMapOut} deny 10`,
    'exit',
    '!',
    `router bgp ${side.asn}`,
    ...(side.routerId === undefined ? [] : [` bgp router-id ${side.routerId}`]),
    ...side.groups.flatMap(groupLines),
    ...familiesOf(side).flatMap((family) => [
      ` address-family ${family} unicast`,
      ...side.groups.flatMap((group) => activation(group, family)),
      ' exit-address-family',
    ]),
    // Last: bgpd starts a neighbour with the first line that names it.
    ...side.groups.flatMap(memberLines),
    'exit',
  ];
}

function groupLines(group: NeighbourGroup): string[] {
  const of = ` neighbor ${group.name}`;
  return [
    `${of} peer-group`,
    `${of} remote-as ${group.asn}`,
    `${of} timers ${group.keepaliveSeconds} ${group.holdSeconds}`,
    ...(group.multihopTtl === undefined || group.isInternal
      ? []
      : [`${of} ebgp-multihop ${group.multihopTtl}`]),
    ...(group.ttlSecurityHops === undefined
      ? []
      : [`${of} ttl-security hops ${group.ttlSecurityHops}`]),
    ...(group.hasExtendedNextHop ? [`${of} capability extended-nexthop`] : []),
  ];
}

function activation(group: NeighbourGroup, family: 'ipv4' | 'ipv6'): string[] {
  const of = `neighbor ${group.name}`;
  if (!group.families.includes(family)) return [`  no ${of} activate`];
  const { warnPercent, restartMinutes } = limitPolicy;
  return [
    `  ${of} activate`,
    `  ${of} route-map ${routeMapIn(family)} in`,
    `  ${of} route-map ${routeMapOut} out`,
    `  ${of} maximum-prefix ${group.maximumPrefixes[family]} ${warnPercent} restart ${restartMinutes}`,
  ];
}

function memberLines({ name, neighbours, listenRange }: NeighbourGroup): string[] {
  if (listenRange !== undefined) return [` bgp listen range ${listenRange} peer-group ${name}`];
  return neighbours.flatMap(({ node, address }) => [
    ` neighbor ${address} peer-group ${name}`,
    ` neighbor ${address} description ${node}`,
  ]);
}
