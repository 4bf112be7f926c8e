/** Reading and declaring routes over one socket. */
import type { RefusedRoute, RouteFilter, RouteOutcome } from '../kernel.ts';
import { errnoName, isErrno } from '../kernel-error.ts';
import type { KernelRoute, RouteSpec } from '../route.ts';
import { routeDelta } from '../route-delta.ts';
import { listLinks, readLink } from './link-messages.ts';
import type { Request } from './message.ts';
import { addRoute, listRoutes, readRoute, removeRoute, replaceRoute } from './route-messages.ts';
import type { NetlinkSocket } from './socket.ts';

/** Somebody changes routes meanwhile, or answers are lost: look again, so many times. */
const attempts = 4;

export async function heldRoutes(
  socket: NetlinkSocket,
  filter: RouteFilter,
): Promise<KernelRoute[]> {
  const links = await socket.dump(listLinks(), readLink);
  return readRoutes(socket, filter, new Map(links.map(({ index, name }) => [index, name])));
}

async function readRoutes(
  socket: NetlinkSocket,
  { protocol, table, family }: RouteFilter,
  names: ReadonlyMap<number, string>,
): Promise<KernelRoute[]> {
  const found: KernelRoute[] = [];
  for (const each of family ? [family] : (['ipv4', 'ipv6'] as const)) {
    const routes = await socket.dump(listRoutes(each, protocol), (m) => readRoute(m, names));
    for (const route of routes) {
      // A kernel before 4.20 knows no filters and sends everything, as does one without IPv6.
      if (route.prefix.family !== each) continue;
      if (protocol !== undefined && route.protocol !== protocol) continue;
      if (table === undefined || route.table === table) found.push(route);
    }
  }
  return found;
}

export async function applyRoutes(
  socket: NetlinkSocket,
  wanted: readonly RouteSpec[],
  protocol: number,
): Promise<RouteOutcome> {
  const outcome = { added: 0, replaced: 0, removed: 0 };
  for (let attempt = 1; ; attempt++) {
    try {
      const { refused, unchanged, wasStale } = await applyOnce(socket, wanted, protocol, outcome);
      if (!wasStale || attempt === attempts) return { ...outcome, unchanged, refused };
    } catch (error) {
      if (!isErrno(error, 'ENOBUFS') || attempt === attempts) throw error;
    }
  }
}

async function applyOnce(
  socket: NetlinkSocket,
  wanted: readonly RouteSpec[],
  protocol: number,
  outcome: { added: number; replaced: number; removed: number },
): Promise<{ refused: RefusedRoute[]; unchanged: number; wasStale: boolean }> {
  const links = await socket.dump(listLinks(), readLink);
  const names = new Map(links.map(({ index, name }) => [index, name]));
  const indexes = new Map(links.map(({ index, name }) => [name, index]));
  const delta = routeDelta(wanted, await readRoutes(socket, { protocol }, names), protocol);

  const refused: RefusedRoute[] = [];
  const hasDevice = (route: RouteSpec) => {
    if (route.device === undefined || indexes.has(route.device)) return true;
    const detail = `there is no interface ${route.device}`;
    refused.push({ route, reason: 'Unusable', detail });
    return false;
  };
  // First what carries traffic, then what no longer should: a move never leaves a gap.
  const routes = new Map<Request, { route: RouteSpec; step: 'added' | 'replaced' | 'removed' }>();
  for (const route of delta.replace.filter(hasDevice)) {
    routes.set(replaceRoute(route, protocol, indexes), { route, step: 'replaced' });
  }
  for (const route of delta.add.filter(hasDevice)) {
    routes.set(addRoute(route, protocol, indexes), { route, step: 'added' });
  }
  for (const route of delta.remove) {
    routes.set(removeRoute(asPlace(route), protocol, indexes), { route, step: 'removed' });
  }
  let wasStale = false;
  for (const { request, errno, detail } of await socket.exchange([...routes.keys()])) {
    const { route, step } = routes.get(request) as { route: RouteSpec; step: string };
    routes.delete(request);
    const name = errnoName(errno);
    if (step === 'removed' && (name === 'ESRCH' || name === 'ENODEV')) {
      // It was gone already, with its interface perhaps. Look once more.
      wasStale = true;
      continue;
    }
    const reason = name === 'EEXIST' ? 'Taken' : 'Unusable';
    const own = name === 'EEXIST' ? 'another route has this place' : name;
    refused.push({ route, reason, detail: detail ? `${own} (${detail})` : own });
  }
  for (const { step } of routes.values()) outcome[step]++;
  return { refused, unchanged: delta.unchanged, wasStale };
}

/** One of several next hops would not be found, or only that one removed: leave them out. */
function asPlace(route: KernelRoute): RouteSpec {
  if (route.nextHopCount === undefined) return route;
  const { via: _via, device: _device, isOnLink: _isOnLink, tunnel: _tunnel, ...place } = route;
  return place;
}
