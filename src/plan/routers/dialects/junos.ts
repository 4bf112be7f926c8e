import type { PrefixFilter } from '../prefix-filters.ts';
import { isExact, type NeighbourGroup } from '../router-side.ts';
import { type Dialect, familiesOf, limitPolicy, routeMapOut } from './dialect.ts';

const policyIn = 'CADASTRE-IN';

/** Below this Junos wants its precise timers, so that a busy router does not end sessions. */
const preciseBelowSeconds = 20;

export const junos: Dialect = {
  name: 'junos',
  title: 'Junos',
  comment: '#',
  isRun: false,
  howTo: 'configure, load set terminal, paste, show | compare, commit confirmed 5, commit.',
  print: (side) => [
    ...(side.routerId === undefined ? [] : [`set routing-options router-id ${side.routerId}`]),
    ...familiesOf(side).flatMap((family) => {
      const of = `set policy-options policy-statement ${policyIn} term ${family}`;
      if (side.filters[family].length === 0) return [];
      return [
        ...side.filters[family].map(
          (filter) => `${of} from route-filter ${filter.prefix} ${lengths(filter)}`,
        ),
        `${of} then accept`,
      ];
    }),
    `set policy-options policy-statement ${policyIn} term rest then reject`,
    `set policy-options policy-statement ${routeMapOut} then reject`,
    ...(side.groups.some(({ holdSeconds }) => holdSeconds > 0 && holdSeconds < preciseBelowSeconds)
      ? ['set protocols bgp precision-timers']
      : []),
    ...side.groups.flatMap(groupLines),
  ],
};

function lengths(filter: PrefixFilter): string {
  return isExact(filter)
    ? 'exact'
    : `prefix-length-range /${filter.minLength}-/${filter.maxLength}`;
}

function groupLines(group: NeighbourGroup): string[] {
  const of = `set protocols bgp group ${group.name}`;
  const { warnPercent, restartMinutes } = limitPolicy;
  return [
    `${of} type ${group.isInternal ? 'internal' : 'external'}`,
    `${of} local-address ${group.routerAddress}`,
    ...(group.isInternal ? [] : [`${of} peer-as ${group.asn}`]),
    `${of} hold-time ${group.holdSeconds}`,
    ...(group.multihopTtl === undefined || group.isInternal
      ? []
      : [`${of} multihop ttl ${group.multihopTtl}`]),
    `${of} import ${policyIn}`,
    `${of} export ${routeMapOut}`,
    ...group.families.flatMap((family) => {
      const unicast = `${of} family ${family === 'ipv4' ? 'inet' : 'inet6'} unicast`;
      return [
        `${unicast} prefix-limit maximum ${group.maximumPrefixes[family]}`,
        `${unicast} prefix-limit teardown ${warnPercent} idle-timeout ${restartMinutes}`,
      ];
    }),
    ...(group.listenRange === undefined
      ? group.neighbours.map(
          ({ node, address }) => `${of} neighbor ${address} description "${node}"`,
        )
      : [`${of} allow ${group.listenRange}`]),
  ];
}
