/**
 * A route as the kernel keeps it. Two routes are rivals for one place if their
 * keys agree (table, prefix, metric): the kernel holds one of them. `settleRoute`
 * writes out what the kernel would fill in, so that a wanted route and the
 * dumped one compare equal.
 */
import type { Address } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';

/**
 * Who made a route. Numbers above 4 are free for routing daemons; iproute2 has
 * no name for these two. 83 marks what `setRoutes` declares, 84 the routes to
 * pods, which live and die with their interface, so that a new declaration of
 * the one never touches the other.
 */
export const nodeRouteProtocol = 83;
export const podRouteProtocol = 84;

export const mainTable = 254;

export interface RouteSpec {
  prefix: Prefix;
  /** `unicast` unless it says otherwise: the others drop, silently or with an ICMP error. */
  type?: 'unicast' | 'blackhole' | 'unreachable' | 'prohibit';
  via?: Address;
  /** The interface's name. */
  device?: string;
  /** Take the gateway for a neighbour even if no address of the device says so. */
  isOnLink?: boolean;
  /** Preferred source address for what this host itself sends. */
  source?: Address;
  /** Lower wins. The kernel's own default: 0 for IPv4, 1024 for IPv6. */
  metric?: number;
  table?: number;
  /** Outer header for a tunnel device in external mode. */
  tunnel?: { vni: number; remote: Address };
  mtu?: number;
}

/** A route that the kernel holds. */
export interface KernelRoute extends RouteSpec {
  protocol: number;
  /** How many next hops it has, where it has more than the one shown. */
  nextHopCount?: number;
}

export function settleRoute<R extends RouteSpec>(route: R): R {
  if (isSettled(route)) return route;
  const { device, isOnLink, ...rest } = route;
  const { prefix, type = 'unicast', metric = 0, table = mainTable } = route;
  return {
    ...rest,
    type,
    // IPv6 has no metric 0.
    metric: metric === 0 && prefix.family === 'ipv6' ? 1024 : metric,
    table,
    ...(isOnLink ? { isOnLink } : {}),
    // IPv6 hangs what drops on the loopback device; IPv4 on none.
    ...(device !== undefined && type === 'unicast' ? { device } : {}),
  } as R;
}

/** As every dumped route is: a table of thousands is not copied to be compared. */
function isSettled({ prefix, type, metric, table, device, isOnLink }: RouteSpec): boolean {
  if (type === undefined || metric === undefined || table === undefined) return false;
  if (metric === 0 && prefix.family === 'ipv6') return false;
  return isOnLink !== false && (type === 'unicast' || device === undefined);
}

/** The place a settled route takes. */
export function routeKey(route: RouteSpec): string {
  return `${route.table} ${route.prefix} ${route.metric}`;
}

/** Whether two settled routes of one place are the same. */
export function isSameRoute(a: RouteSpec, b: RouteSpec): boolean {
  return (
    a.type === b.type &&
    a.device === b.device &&
    a.isOnLink === b.isOnLink &&
    a.mtu === b.mtu &&
    isSameAddress(a.via, b.via) &&
    isSameAddress(a.source, b.source) &&
    a.tunnel?.vni === b.tunnel?.vni &&
    isSameAddress(a.tunnel?.remote, b.tunnel?.remote)
  );
}

function isSameAddress(a: Address | undefined, b: Address | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}

/** The route as `ip route` would say it. */
export function routeText(route: RouteSpec): string {
  const words = [
    route.type === 'unicast' ? '' : route.type,
    String(route.prefix),
    route.tunnel && `encap id ${route.tunnel.vni} dst ${route.tunnel.remote}`,
    route.via && `via ${route.via}`,
    route.device && `dev ${route.device}`,
    route.isOnLink && 'onlink',
    route.source && `src ${route.source}`,
    route.mtu && `mtu ${route.mtu}`,
    `metric ${route.metric ?? 0}`,
    route.table !== mainTable && route.table !== undefined && `table ${route.table}`,
  ];
  return words.filter(Boolean).join(' ');
}
