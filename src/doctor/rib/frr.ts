import type { Family } from '../../net/family.ts';
import { DumpProblem, isMap, type RibDumpBuilder, textOf } from './rib-dump.ts';

/**
 * FRR's `show bgp [vrf all] [ipv4|ipv6] unicast json [detail]`. One table, or
 * several by VRF or by family. A prefix has a list of paths; `detail` puts an
 * entry about the prefix itself in front, and newer versions wrap the list in
 * `paths`. Best is `bestpath` (true, or an object), and `multipath` beside it.
 */
export function looksLikeFrr(value: Record<string, unknown>): boolean {
  return tablesOf(value).length > 0;
}

interface FrrTable {
  name: string;
  table: Record<string, unknown>;
  routes: Record<string, unknown>;
}

function tablesOf(value: Record<string, unknown>): FrrTable[] {
  if (isTable(value)) return [{ name: '', table: value, routes: value.routes }];
  return Object.entries(value).flatMap(([name, inner]): FrrTable[] => {
    if (!isMap(inner)) return [];
    return tablesOf(inner).map((one) => ({ ...one, name: `${name} ${one.name}` }));
  });
}

function isTable(
  value: Record<string, unknown>,
): value is Record<string, unknown> & { routes: Record<string, unknown> } {
  return isMap(value.routes) && ('vrfId' in value || 'routerId' in value || 'localAS' in value);
}

export function readFrr(value: Record<string, unknown>, builder: RibDumpBuilder): string {
  for (const { name, table, routes } of tablesOf(value)) {
    const family: Family | undefined = /ipv4/i.test(name)
      ? 'ipv4'
      : /ipv6/i.test(name)
        ? 'ipv6'
        : undefined;
    builder.vrf(textOf(table.vrfName) || 'default', family);
    if (typeof table.routerId === 'string') builder.addresses.add(table.routerId);
    for (const [prefix, entry] of Object.entries(routes)) {
      const paths = isMap(entry) ? entry.paths : entry;
      if (!Array.isArray(paths)) {
        throw new DumpProblem(`the route ${prefix} has no list of paths, so this is no FRR table`);
      }
      for (const path of paths) if (isMap(path)) readPath(builder, prefix, path);
    }
  }
  return 'FRR';
}

function readPath(builder: RibDumpBuilder, prefix: string, path: Record<string, unknown>): void {
  const { nexthops, bestpath, multipath, valid, peer } = path;
  if (!Array.isArray(nexthops)) return;
  const isBest = bestpath === true || (isMap(bestpath) && bestpath.overall === true);
  const isUsed = (isBest || multipath === true) && valid !== false;
  const from = isMap(peer) ? textOf(peer.routerId) || textOf(peer.peerId) : textOf(path.peerId);
  // An IPv6 path may have a link-local next hop beside the global one; the global one has a name.
  const hops = nexthops.filter(isMap);
  const named = hops.filter(({ scope }) => scope !== 'link-local');
  for (const { ip, accessible } of named.length > 0 ? named : hops.slice(0, 1)) {
    const detail = {
      from,
      protocol: 'bgp',
      ...(typeof path.path === 'string' ? { asPath: path.path } : {}),
    };
    builder.add(prefix, textOf(ip), isUsed && accessible !== false, detail);
  }
}
