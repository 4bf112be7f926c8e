/** From what the kernel holds to what is wanted, in the fewest steps and without a gap. */
import { isSameRoute, type KernelRoute, type RouteSpec, routeKey, settleRoute } from './route.ts';

interface RouteDelta {
  add: RouteSpec[];
  /** Ours, and different: overwritten in place, so that no packet finds nothing. */
  replace: RouteSpec[];
  remove: KernelRoute[];
  unchanged: number;
}

/**
 * `held` is everything in the tables concerned. Only routes of `protocol` are
 * ever removed or overwritten. If a wanted list names one place twice, the last
 * one wins.
 */
export function routeDelta(
  wanted: readonly RouteSpec[],
  held: readonly KernelRoute[],
  protocol: number,
): RouteDelta {
  const places = new Map<string, RouteSpec>();
  for (const route of wanted) {
    const settled = settleRoute(route);
    places.set(routeKey(settled), settled);
  }
  const delta: RouteDelta = { add: [], replace: [], remove: [], unchanged: 0 };
  const met = new Set<string>();
  for (const route of held) {
    if (route.protocol !== protocol) continue;
    const settled = settleRoute(route);
    const key = routeKey(settled);
    const wish = places.get(key);
    if (wish === undefined || met.has(key)) {
      delta.remove.push(settled);
      continue;
    }
    met.add(key);
    if (isSame(wish, settled)) {
      delta.unchanged++;
    } else {
      delta.replace.push(wish);
    }
  }
  for (const [key, route] of places) {
    if (!met.has(key)) delta.add.push(route);
  }
  return delta;
}

/** Where the wish leaves the interface to the kernel, whichever it found is right. */
function isSame(wish: RouteSpec, held: KernelRoute): boolean {
  if (held.nextHopCount !== undefined) return false;
  if (wish.device !== undefined || held.device === undefined) return isSameRoute(wish, held);
  return isSameRoute({ ...wish, device: held.device }, held);
}
