import { all, holderOf, type Tree, word } from './data-tree.ts';
import { DumpProblem, isMap, type RibDumpBuilder, textOf } from './rib-dump.ts';

/**
 * Arista EOS: `show ip route | json`, `show ipv6 route | json`, `show ip bgp | json` and the
 * answers of its eAPI. Tables by VRF; a route has `vias`, a BGP entry `bgpRoutePaths`.
 */
export function looksLikeEos(value: unknown): boolean {
  return eosVrfs(value) !== undefined;
}

function eosVrfs(value: unknown): Tree | undefined {
  const vrfs = holderOf(value, 'vrfs')?.vrfs;
  if (!isMap(vrfs)) return undefined;
  const tables = Object.values(vrfs);
  return tables.some((one) => isMap(one) && (isMap(one.routes) || isMap(one.bgpRouteEntries)))
    ? vrfs
    : undefined;
}

export function readEos(value: unknown, builder: RibDumpBuilder): string {
  for (const [name, table] of Object.entries(eosVrfs(value)!)) {
    if (!isMap(table)) continue;
    builder.vrf(name);
    const { routerId } = table;
    if (typeof routerId === 'string' && routerId !== '0.0.0.0') builder.addresses.add(routerId);
    if (isMap(table.bgpRouteEntries)) readBgp(table.bgpRouteEntries, builder);
    else if (isMap(table.routes)) readRoutes(table.routes, builder);
  }
  return 'Arista EOS';
}

function readBgp(entries: Tree, builder: RibDumpBuilder): void {
  for (const [prefix, entry] of Object.entries(entries)) {
    if (!isMap(entry) || !Array.isArray(entry.bgpRoutePaths)) {
      throw new DumpProblem(`the route ${prefix} has no bgpRoutePaths`);
    }
    for (const path of all(entry, 'bgpRoutePaths')) {
      const [type = {}] = all(path, 'routeType');
      const isBest = type.active === true || type.ecmpContributor === true;
      const isUsed = isBest && type.valid !== false && type.notInstalled !== true;
      const [peer] = all(path, 'peerEntry');
      const asPath = word(all(path, 'asPathEntry')[0], 'asPath');
      builder.add(prefix, textOf(path.nextHop), isUsed, {
        protocol: 'bgp',
        from: word(peer, 'peerRouterId') || word(peer, 'peerAddr'),
        asPath: asPath?.replace(/\s*[ie?]$/, ''),
      });
    }
  }
}

const protocols: Readonly<Record<string, string>> = {
  ebgp: 'bgp',
  ibgp: 'bgp',
  bgp: 'bgp',
  otherbgp: 'bgp',
  bgpaggregate: 'aggregate',
};

function readRoutes(routes: Tree, builder: RibDumpBuilder): void {
  for (const [prefix, route] of Object.entries(routes)) {
    if (!isMap(route) || !Array.isArray(route.vias)) {
      throw new DumpProblem(`the route ${prefix} has no vias`);
    }
    const type = textOf(route.routeType).toLowerCase();
    const protocol = protocols[type] ?? type.replace(/^(ospf|isis).*$/, '$1');
    const isOwn = route.directlyConnected === true || route.routeAction === 'drop';
    const hops = all(route, 'vias').map((via) => textOf(via.nexthopAddr) || textOf(via.vtepAddr));
    for (const hop of isOwn || hops.length === 0 ? [''] : hops) {
      builder.add(prefix, isOwn ? '' : hop, true, { protocol });
    }
  }
}
