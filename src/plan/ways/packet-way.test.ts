import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Address, parseAddress } from '../../net/address.ts';
import { Prefix, parsePrefix } from '../../net/prefix.ts';
import {
  type Forwarder,
  Forwarding,
  type ForwardingRoute,
  type ForwardTo,
  isDetour,
  longestMatch,
} from './packet-way.ts';

const address = (text: string) => parseAddress(text)!;
const route = (cidr: string, to: ForwardTo): ForwardingRoute => ({
  prefix: parsePrefix(cidr)!,
  to,
});
const via = (text: string): ForwardTo => ({ kind: 'next-hop', address: text });
const here: ForwardTo = { kind: 'here' };

const router = (...routes: ForwardingRoute[]): Forwarder => ({
  ...{ kind: 'router', name: 'tor1', addresses: ['10.4.36.250'], routes },
});
const node = (name: string, own: string, ...routes: ForwardingRoute[]): Forwarder => ({
  ...{ kind: 'node', name, addresses: [own], routes },
});

/** Pods of a in 10.5.1.0/24, of b in 10.5.2.0/24; each has a direct route to the other's. */
const a = node(
  'a',
  '10.4.0.1',
  route('10.5.1.0/24', { kind: 'drop' }),
  route('10.5.1.7/32', { kind: 'here', pod: 'a-1' }),
  route('10.5.2.0/24', via('10.4.0.2')),
);
const b = node('b', '10.4.0.2', route('10.5.2.0/24', here), route('10.5.1.0/24', via('10.4.0.1')));

const way = (all: Forwarder[], to: string) => new Forwarding(all).way('tor1', address(to))!;

describe('the way of a packet', () => {
  test('leads from the router to the node that has the pod', () => {
    const found = way([router(route('10.5.1.0/24', via('10.4.0.1'))), a, b], '10.5.1.7');
    expect(found).toMatchObject({ end: 'delivered', pod: 'a-1', why: '' });
    expect(found.hops).toEqual([
      { kind: 'router', name: 'tor1', prefix: '10.5.1.0/24', nextHop: '10.4.0.1' },
      { kind: 'node', name: 'a', prefix: '10.5.1.7/32', nextHop: '' },
    ]);
    expect(isDetour(found)).toBe(false);
  });

  test('that enters at another node, which passes it on, is a detour', () => {
    const found = way([router(route('10.5.1.0/24', via('10.4.0.2'))), a, b], '10.5.1.7');
    expect(found.hops.map(({ name }) => name)).toEqual(['tor1', 'b', 'a']);
    expect(isDetour(found)).toBe(true);
  });

  test('ends where nobody has a route, and says where', () => {
    const found = way([router(route('10.5.2.0/24', via('10.4.0.2'))), a, b], '10.5.1.7');
    expect(found).toMatchObject({ end: 'no-route', why: 'tor1 has no route to 10.5.1.7' });
    expect(isDetour(found)).toBe(false);
  });

  test('ends at the owner where no pod has the address', () => {
    const found = way([router(route('10.5.1.0/24', via('10.4.0.1'))), a, b], '10.5.1.8');
    expect(found).toMatchObject({ end: 'dropped' });
    expect(found.why).toContain('no pod of its 10.5.1.0/24');
  });

  test('to a next hop that is nobody leads nowhere', () => {
    const found = way([router(route('10.5.1.0/24', via('10.4.0.9'))), a, b], '10.5.1.7');
    expect(found).toMatchObject({ end: 'nowhere' });
    expect(found.why).toContain('10.4.0.9, which is no node and no router');
  });

  test('that comes back to where it was is a loop', () => {
    const back = node('b', '10.4.0.2', route('10.5.0.0/16', via('10.4.36.250')));
    const found = way([router(route('10.5.1.0/24', via('10.4.0.2'))), a, back], '10.5.1.7');
    expect(found).toMatchObject({ end: 'loop' });
    expect(found.hops.map(({ name }) => name)).toEqual(['tor1', 'b']);
  });

  test('is not guessed where a node has not said what it does', () => {
    const silent: Forwarder = { ...node('b', '10.4.0.2'), unknown: 'b has not reported' };
    const found = way([router(route('10.5.1.0/24', via('10.4.0.2'))), a, silent], '10.5.1.7');
    expect(found).toMatchObject({ end: 'not-known', why: 'b has not reported' });
  });

  test('from a machine that does not exist is none', () => {
    expect(new Forwarding([a]).way('tor1', address('10.5.1.7'))).toBeUndefined();
  });
});

test('the longest prefix that holds the address decides, whatever the order', () => {
  const prefixes = fc
    .tuple(fc.nat(0xffff), fc.integer({ min: 0, max: 32 }))
    .map(([low, length]) => Prefix.of(new Address('ipv4', 0x0a050000 | low, 0, 0, 0), length));
  fc.assert(
    fc.property(fc.array(prefixes, { maxLength: 20 }), fc.nat(0xffff), (all, low) => {
      const to = new Address('ipv4', 0x0a050000 | low, 0, 0, 0);
      const routes = all.map((prefix) => ({ prefix, to: here }));
      const lengths = all.filter((prefix) => prefix.contains(to)).map(({ length }) => length);
      const found = longestMatch(routes, to)?.prefix.length;
      expect(found).toBe(lengths.length === 0 ? undefined : Math.max(...lengths));
      expect(longestMatch([...routes].reverse(), to)?.prefix.length).toBe(found);
    }),
  );
});

test('every way ends, and passes no machine twice', () => {
  const names = ['tor1', 'a', 'b', 'c'];
  const addresses = ['10.4.0.0', '10.4.0.1', '10.4.0.2', '10.4.0.3', '10.4.0.9'];
  const to: fc.Arbitrary<ForwardTo> = fc.oneof(
    fc.constantFrom(...addresses).map(via),
    fc.constantFrom<ForwardTo>(here, { kind: 'drop' }),
  );
  const routes = fc.array(
    fc
      .tuple(fc.constantFrom('0.0.0.0/0', '10.5.0.0/16', '10.5.1.0/24', '10.6.0.0/16'), to)
      .map(([cidr, where]) => route(cidr, where)),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(fc.tuple(routes, routes, routes, routes), (tables) => {
      const all = tables.map(
        (table, index): Forwarder => ({
          kind: index === 0 ? 'router' : 'node',
          name: names[index]!,
          addresses: [addresses[index]!],
          routes: table,
        }),
      );
      const found = way(all, '10.5.1.7');
      const passed = found.hops.map(({ name }) => name);
      expect(new Set(passed).size).toBe(passed.length);
      expect(found.why === '').toBe(found.end === 'delivered');
    }),
  );
});
