import { expect, test } from 'vitest';
import { cleanWorlds, report, route, router } from '../../../test/doctor/worlds.ts';
import { parseAddress } from '../../net/address.ts';
import type { Evidence } from '../doctor/evidence.ts';
import { survey } from '../doctor/survey.ts';
import { waysTo } from './survey-ways.ts';

/** Nodes a (10.0.0.1, 10.1.0.0/24) and b (10.0.0.2, 10.1.1.0/24), as Cadastre has given them. */
const clean = cleanWorlds['ip-pool of Cadastre']();
const ask = (evidence: Evidence, to: string) => waysTo(survey(evidence), parseAddress(to)!);
const kernel = { wanted: 2, held: 2, repaired: 0, refused: [] };
const withReports = (heldByB: number): Evidence => ({
  ...clean,
  reports: [
    report('a', { kernel: { ...kernel, ownRoutes: ['10.1.0.0/24'] } }),
    report('b', {
      kernel: { ...kernel, held: heldByB, ownRoutes: ['10.1.1.0/24'] },
    }),
  ],
});
const swapped = [
  router('tor1', [route('10.1.0.0/24', '10.0.0.2'), route('10.1.1.0/24', '10.0.0.1')]),
];

test('a packet enters at the owner of its block', () => {
  const { owner, block, ways } = ask(withReports(2), '10.1.1.9');
  expect({ owner, block }).toEqual({ owner: 'b', block: '10.1.1.0/24' });
  expect(ways.length).toBeGreaterThan(0);
  for (const way of ways) {
    expect(way.end).toBe('delivered');
    expect(way.hops.map(({ name }) => name)).toEqual([way.router, 'b']);
  }
});

test('a router that leads to another node makes a detour, where that node holds all routes', () => {
  const { ways } = ask({ ...withReports(2), routers: swapped }, '10.1.0.9');
  expect(ways).toMatchObject([{ router: 'tor1', end: 'delivered' }]);
  expect(ways[0]?.hops.map(({ name }) => name)).toEqual(['tor1', 'b', 'a']);
});

test('what a kernel does that does not hold all of them is not known', () => {
  const { ways } = ask({ ...withReports(1), routers: swapped }, '10.1.0.9');
  expect(ways).toMatchObject([{ end: 'not-known' }]);
  expect(ways[0]?.why).toBe(
    'the kernel of b holds 1 route; whether one leads to a was not reported',
  );
});

test('an address of nobody has no owner, and no router has a way to it', () => {
  const { owner, block, ways } = ask(withReports(2), '10.99.0.1');
  expect({ owner, block }).toEqual({ owner: '', block: '' });
  for (const { end } of ways) expect(end).toBe('no-route');
});

test('a route that is gone ends the way at the router', () => {
  const { ways } = ask(
    { ...withReports(2), routers: [router('tor1', [route('10.1.0.0/24', '10.0.0.1')])] },
    '10.1.1.9',
  );
  expect(ways).toMatchObject([{ end: 'no-route', why: 'tor1 has no route to 10.1.1.9' }]);
});
