import type { Family } from '../../../net/family.ts';
import type { PrefixFilter } from '../prefix-filters.ts';
import { isExact, type NeighbourGroup, type RouterSide } from '../router-side.ts';
import { type Dialect, familiesOf } from './dialect.ts';

export const bird: Dialect = {
  name: 'bird',
  title: 'BIRD 2',
  comment: '#',
  isRun: true,
  howTo: 'include "FILE"; in bird.conf, then birdc configure.',
  print: (side) => [
    ...(side.routerId === undefined ? [] : [`router id ${side.routerId};`]),
    ...familiesOf(side).flatMap((family) => [
      `filter cadastre_${family} {`,
      ...(side.filters[family].length === 0
        ? ['  reject;']
        : [
            '  if net ~ [',
            side.filters[family]
              .map((filter) => `    ${filter.prefix}${lengths(filter)}`)
              .join(',\n'),
            '  ] then accept;',
            '  reject;',
          ]),
      '}',
    ]),
    ...side.groups.flatMap((group) => [...template(side, group), ...members(group)]),
  ],
};

function lengths(filter: PrefixFilter): string {
  return isExact(filter) ? '' : `{${filter.minLength},${filter.maxLength}}`;
}

const nameOf = ({ name }: NeighbourGroup) => name.toLowerCase().replaceAll('-', '_');

function template(side: RouterSide, group: NeighbourGroup): string[] {
  return [
    `template bgp ${nameOf(group)}_nodes {`,
    `  local ${group.routerAddress} as ${side.asn};`,
    `  hold time ${group.holdSeconds};`,
    `  keepalive time ${group.keepaliveSeconds};`,
    ...(group.multihopTtl === undefined ? [] : [`  multihop ${group.multihopTtl};`]),
    ...(group.ttlSecurityHops === undefined ? [] : ['  ttl security on;']),
    ...group.families.flatMap((family) => channel(group, family)),
    '}',
  ];
}

function channel(group: NeighbourGroup, family: Family): string[] {
  return [
    `  ${family} {`,
    `    import filter cadastre_${family};`,
    '    export none;',
    `    import limit ${group.maximumPrefixes[family]} action restart;`,
    ...(family === 'ipv4' && group.hasExtendedNextHop ? ['    extended next hop on;'] : []),
    '  };',
  ];
}

function members(group: NeighbourGroup): string[] {
  const template = `${nameOf(group)}_nodes`;
  if (group.listenRange !== undefined) {
    return [
      `protocol bgp ${nameOf(group)}_dynamic from ${template} {`,
      `  neighbor range ${group.listenRange} as ${group.asn};`,
      `  dynamic name "${nameOf(group)}_";`,
      '}',
    ];
  }
  return group.neighbours.flatMap(({ node, address }) => [
    `protocol bgp ${nameOf(group)}_${node.replace(/\W/g, '_')} from ${template} {`,
    `  description "${node}";`,
    `  neighbor ${address} as ${group.asn};`,
    '}',
  ]);
}
