import type { ClusterNode } from '../../model/node.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { AnnouncedPrefix } from './announced.ts';
import type { RouterRoute, RouterTable } from './evidence.ts';
import type { Hop, NextHops } from './next-hops.ts';

/** One router's table, by prefix, with every next hop understood. */
export interface RouteView {
  /** The router's name; `announced` for the view made of announcements. */
  name: string;
  isRouter: boolean;
  families: ReadonlySet<Family>;
  routes: ReadonlyMap<string, RoutedPrefix>;
  /** By node: the prefixes that lead to it. */
  via: ReadonlyMap<string, readonly RoutedPrefix[]>;
  /** Prefix lengths that occur, longest first: what covers a block is looked for there. */
  lengths: Readonly<Record<Family, readonly number[]>>;
  pathCount: number;
}

export interface RoutedPrefix {
  key: string;
  prefix: Prefix;
  paths: RoutePath[];
}

export interface RoutePath {
  nextHop: string;
  hop: Hop;
  isUsed: boolean;
}

/** What the view made of announcements is called in `says`. */
export const announcedName = 'announced';

export function viewTable(table: RouterTable, nextHops: NextHops): RouteView {
  const routes = new Map<string, RoutedPrefix>();
  for (const route of table.routes) {
    const key = route.prefix.toString();
    let routed = routes.get(key);
    if (routed === undefined) {
      routed = { key, prefix: route.prefix, paths: [] };
      routes.set(key, routed);
    }
    addPath(routed, route, nextHops.of(route));
  }
  return { name: table.router, isRouter: true, families: table.families, ...indexed(routes) };
}

/** The announcements as the table of a router that hears everybody. */
export function announcedTable(
  nodes: ReadonlyMap<
    string,
    { node: ClusterNode; announces: readonly AnnouncedPrefix[] | undefined }
  >,
  families: ReadonlySet<Family>,
): RouteView {
  const routes = new Map<string, RoutedPrefix>();
  for (const [name, { node, announces }] of nodes) {
    for (const { prefix } of announces ?? []) {
      if (!families.has(prefix.family)) continue;
      const key = prefix.toString();
      let routed = routes.get(key);
      if (routed === undefined) {
        routed = { key, prefix, paths: [] };
        routes.set(key, routed);
      }
      const nextHop =
        node.addresses.find((one) => one.includes(':') === (prefix.family === 'ipv6')) ??
        node.addresses[0] ??
        '';
      addPath(routed, { nextHop, isUsed: true }, { kind: 'node', node: name });
    }
  }
  return { name: announcedName, isRouter: false, families, ...indexed(routes) };
}

/** The same next hop twice (add-path, several views) is one path. */
function addPath(
  routed: RoutedPrefix,
  { nextHop, isUsed }: Pick<RouterRoute, 'nextHop' | 'isUsed'>,
  hop: Hop,
): void {
  const known = routed.paths.find((path) => path.nextHop === nextHop);
  if (known === undefined) routed.paths.push({ nextHop, hop, isUsed });
  else known.isUsed ||= isUsed;
}

function indexed(routes: Map<string, RoutedPrefix>) {
  const via = new Map<string, RoutedPrefix[]>();
  const lengths = { ipv4: new Set<number>(), ipv6: new Set<number>() };
  let pathCount = 0;
  for (const routed of routes.values()) {
    const { prefix, paths } = routed;
    lengths[prefix.family].add(prefix.length);
    pathCount += paths.length;
    // So that findings read the same however the paths came.
    if (paths.length > 1) {
      paths.sort((a, b) => Number(b.isUsed) - Number(a.isUsed) || (a.nextHop < b.nextHop ? -1 : 1));
    }
    for (const { hop } of paths) {
      if (hop.kind !== 'node') continue;
      const known = via.get(hop.node);
      if (known === undefined) via.set(hop.node, [routed]);
      else if (known.at(-1) !== routed) known.push(routed);
    }
  }
  const longestFirst = (family: Family) => [...lengths[family]].sort((a, b) => b - a);
  return {
    routes,
    via,
    lengths: { ipv4: longestFirst('ipv4'), ipv6: longestFirst('ipv6') },
    pathCount,
  };
}

/** The used paths for a block: of its own route, or of the next larger one that leads to a node. */
export function usedPaths(
  view: RouteView,
  prefix: Prefix,
  key = prefix.toString(),
): readonly RoutePath[] {
  const exact = usedOf(view.routes.get(key));
  if (exact.length > 0) return exact;
  for (const length of view.lengths[prefix.family]) {
    if (length >= prefix.length) continue;
    const used = usedOf(view.routes.get(prefix.parent(length).toString()));
    // The longest match decides; a larger route that leads away from the nodes is no way to pods.
    if (used.length > 0) return used.filter(({ hop }) => hop.kind === 'node');
  }
  return [];
}

const none: readonly RoutePath[] = [];

/** Nearly always all of them: then there is nothing to copy. */
function usedOf(routed: RoutedPrefix | undefined): readonly RoutePath[] {
  if (routed === undefined) return none;
  const { paths } = routed;
  return paths.every(({ isUsed }) => isUsed) ? paths : paths.filter(({ isUsed }) => isUsed);
}
