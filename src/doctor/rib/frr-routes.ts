import { DumpProblem, isMap, type RibDumpBuilder, textOf } from './rib-dump.ts';

/**
 * FRR's (and SONiC's) `show ip route json` and `show ipv6 route json`: by prefix a list of
 * routes of all protocols, each with next hops. `vrf all` puts a level of VRFs above.
 */
export function looksLikeFrrRoutes(value: Record<string, unknown>): boolean {
  const [first] = Object.values(value);
  if (isRoutes(first)) return true;
  return isMap(first) && Object.values(first).length > 0 && isRoutes(Object.values(first)[0]);
}

function isRoutes(value: unknown): value is Record<string, unknown>[] {
  return (
    Array.isArray(value) &&
    isMap(value[0]) &&
    'protocol' in value[0] &&
    Array.isArray(value[0].nexthops)
  );
}

export function readFrrRoutes(value: Record<string, unknown>, builder: RibDumpBuilder): string {
  for (const [key, inner] of Object.entries(value)) {
    if (isMap(inner)) {
      builder.vrf(key);
      for (const [prefix, routes] of Object.entries(inner)) readPrefix(prefix, routes, builder);
    } else readPrefix(key, inner, builder);
  }
  return 'FRR';
}

function readPrefix(prefix: string, routes: unknown, builder: RibDumpBuilder): void {
  if (!isRoutes(routes)) throw new DumpProblem(`the route ${prefix} has no next hops`);
  for (const route of routes) {
    const isSelected = route.selected === true || route.destSelected === true;
    const protocol = textOf(route.protocol);
    if (protocol === 'local') builder.addresses.add(prefix.replace(/\/.*$/, ''));
    const hops = (route.nexthops as unknown[]).filter(isMap);
    // How a recursive next hop is resolved is marked `resolver`; the route itself names the other.
    const named = hops.filter(({ resolver }) => resolver !== true);
    for (const hop of named.length > 0 ? named : [{}]) {
      const isDead =
        hop.active === false ||
        (hop.active === undefined &&
          hop.recursive !== true &&
          hops.some(({ active }) => active === true));
      builder.add(prefix, textOf(hop.ip), isSelected && !isDead, { protocol });
    }
  }
}
