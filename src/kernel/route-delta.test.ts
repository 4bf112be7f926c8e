import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Address, parseAddress } from '../net/address.ts';
import { type Prefix, parsePrefix } from '../net/prefix.ts';
import { type KernelRoute, type RouteSpec, routeKey, routeText, settleRoute } from './route.ts';
import { routeDelta } from './route-delta.ts';

const ours = 83;
const prefixes = ['10.0.0.0/24', '10.0.1.0/24', '10.0.0.0/16', 'fd00::/64', 'fd01::/64'];
const gateways = ['10.9.0.1', '10.9.0.2', 'fe80::1'];

const anyRoute: fc.Arbitrary<RouteSpec> = fc
  .record({
    prefix: fc.constantFrom(...prefixes).map((text) => parsePrefix(text) as Prefix),
    type: fc.constantFrom('unicast' as const, 'blackhole' as const),
    via: fc.constantFrom(...gateways).map((text) => parseAddress(text) as Address),
    metric: fc.constantFrom(0, 7, 1024),
    table: fc.constantFrom(254, 100),
  })
  .map(({ via, ...route }) =>
    route.type === 'unicast' ? { ...route, via, device: 'cad0' } : route,
  );
const held = fc.uniqueArray(
  fc
    .tuple(anyRoute, fc.constantFrom(ours, 3, 84))
    .map(([route, protocol]): KernelRoute => settleRoute({ ...route, protocol })),
  { selector: routeKey },
);

/** A kernel of ten lines: one route a place, EXCL and REPLACE as Linux has them. */
function applied(before: readonly KernelRoute[], delta: ReturnType<typeof routeDelta>) {
  const table = new Map(before.map((route) => [routeKey(route), route]));
  for (const route of delta.replace) table.set(routeKey(route), { ...route, protocol: ours });
  for (const route of delta.add) {
    const key = routeKey(route);
    if (!table.has(key)) table.set(key, { ...route, protocol: ours });
  }
  for (const route of delta.remove) {
    const key = routeKey(route);
    if (table.get(key)?.protocol === ours) table.delete(key);
  }
  return table;
}

describe('the way from what is held to what is wanted', () => {
  test('ends there, touches nothing of other programs, and is not walked twice', () => {
    fc.assert(
      fc.property(held, fc.array(anyRoute), (before, wanted) => {
        const after = applied(before, routeDelta(wanted, before, ours));
        for (const route of before) {
          if (route.protocol !== ours) expect(after.get(routeKey(route))).toEqual(route);
        }
        const wishes = new Map(wanted.map(settleRoute).map((route) => [routeKey(route), route]));
        for (const [key, route] of after) {
          if (route.protocol === ours) {
            expect(routeText(route)).toBe(routeText(wishes.get(key) as RouteSpec));
          }
        }
        for (const key of wishes.keys()) expect(after.has(key)).toBe(true);
        const again = routeDelta(wanted, [...after.values()], ours);
        expect([again.replace, again.remove]).toEqual([[], []]);
        // What is still missing stands in another program's place.
        for (const route of again.add) {
          expect(after.get(routeKey(route))?.protocol).not.toBe(ours);
        }
      }),
    );
  });

  test('takes a route with several next hops for a change that somebody made', () => {
    const wish: RouteSpec = { prefix: parsePrefix('10.0.0.0/24') as Prefix, device: 'cad0' };
    const split: KernelRoute = { ...settleRoute(wish), protocol: ours, nextHopCount: 2 };
    expect(routeDelta([wish], [split], ours).replace).toHaveLength(1);
  });
});
