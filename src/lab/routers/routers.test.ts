import { expect, test } from 'vitest';
import { loadTopology } from '../topologies.ts';
import { bird } from './bird.ts';
import { frr } from './frr.ts';
import { planRouter, tableOf } from './router.ts';
import { chooseSoftware } from './softwares.ts';

const { topology } = loadTopology('two-racks');
const planOf = (name: string) =>
  planRouter(topology, topology.routers.find((one) => one.name === name)!);

test('a router speaks with its own nodes and with the routers of other racks', () => {
  const { neighbours, subnets, med } = planOf('r250');
  expect(neighbours.map(({ name, asn, kind }) => `${kind} ${name} AS${asn}`)).toEqual([
    'node a1 AS64512',
    'node a2 AS64512',
    'node b1 AS64512',
    'node b2 AS64512',
    'router r238 AS64524',
    'router r239 AS64524',
  ]);
  expect(subnets.ipv4).toEqual(['10.4.83.0/24']);
  expect([med, planOf('r251').med]).toEqual([0, 100]);
});

test('nodes are listened to and told nothing; iBGP needs no multihop', () => {
  const text = frr.files(planOf('r250'), '/x')['bgpd.conf']!;
  expect(text).toContain('  neighbor nodes-64512 route-map NOTHING out\n');
  expect(text).not.toContain('neighbor nodes-64512 ebgp-multihop');
  expect(text).toContain(' neighbor routers-64524 ebgp-multihop 4\n');
  const config = bird.files(planOf('r238'), '/x')['bird.conf']!;
  expect(config).toContain('ipv4 { import all; export none; };');
  expect(config).toContain('neighbor 10.4.94.32 as 64513;');
});

test('FRR is told all about a neighbour before it hears its address', () => {
  const lines = frr.files(planOf('r238'), '/x')['bgpd.conf']!.split('\n');
  const first = lines.findIndex((line) => line.includes('neighbor 10.4.36.250'));
  expect(lines[first]).toBe(' neighbor 10.4.36.250 peer-group routers-64512');
  const said = lines.findLastIndex((line) => line.includes(' neighbor routers-64512 '));
  expect(said).toBeLessThan(first);
  expect(lines.indexOf(' bgp disable-ebgp-connected-route-check')).toBeLessThan(first);
  expect(lines.findLastIndex((line) => line.startsWith('route-map'))).toBeLessThan(first);
});

test('every path of every prefix is read from what FRR prints', () => {
  const nexthops = (ip: string) => [{ ip, afi: 'ipv4' }];
  const text = JSON.stringify({
    routes: {
      '10.5.112.0/24': [
        { valid: true, nexthops: nexthops('10.4.94.21') },
        { valid: true, bestpath: true, nexthops: nexthops('10.4.94.32') },
      ],
      'fd00:5::/64': [
        {
          bestpath: true,
          nexthops: [
            { ip: 'fe80::1', scope: 'link-local' },
            { ip: 'fd00:94::11', scope: 'global' },
          ],
        },
      ],
      '10.5.113.0/24': [{ valid: false, nexthops: nexthops('10.4.94.31') }],
    },
  });
  expect(tableOf(frr.readPaths(text))).toEqual([
    { prefix: '10.5.112.0/24', nextHop: '10.4.94.32' },
    { prefix: 'fd00:5::/64', nextHop: 'fd00:94::11' },
  ]);
  expect(frr.readPaths(text).filter(({ isBest }) => !isBest)).toEqual([
    { prefix: '10.5.112.0/24', nextHop: '10.4.94.21', isBest: false },
    { prefix: '10.5.113.0/24', nextHop: '10.4.94.31', isBest: false },
  ]);
  expect(frr.readPaths('{}')).toEqual([]);
});

test('the same from what BIRD prints', () => {
  const text = `BIRD 2.0.12 ready.
Table master4:
10.5.112.0/24        unicast [a1 20:01:11.500] * (100) [AS64513i]
	via 10.4.94.32 on rack-94
                     unicast [a2 20:01:12.000] (100) [AS64513i]
	via 10.4.94.21 on rack-94
10.5.114.0/24        unicast [r250 20:01:12.100] * (100) [AS64512i]
	via 10.4.36.250 on core
`;
  expect(bird.readPaths(text).filter(({ isBest }) => !isBest)).toEqual([
    { prefix: '10.5.112.0/24', nextHop: '10.4.94.21', isBest: false },
  ]);
  expect(tableOf(bird.readPaths(text))).toEqual([
    { prefix: '10.5.112.0/24', nextHop: '10.4.94.32' },
    { prefix: '10.5.114.0/24', nextHop: '10.4.36.250' },
  ]);
});

test('what the topology says goes before what the command asks for', () => {
  const { topology: overlay } = loadTopology('overlay');
  expect(chooseSoftware(overlay, 'own')).toEqual({
    chosen: { r238: 'none', r250: 'none' },
    missing: [],
  });
  expect(Object.values(chooseSoftware(topology, 'own').chosen)).toEqual([
    'own',
    'own',
    'own',
    'own',
  ]);
});

test('without FRR BIRD serves, and without either our own stands in, which is said', () => {
  const only = (program: string) => (path: string) => path.endsWith(program);
  const kinds = (isThere: (path: string) => boolean, asked?: 'frr') => {
    const { chosen, missing } = chooseSoftware(topology, asked, isThere);
    return [new Set(Object.values(chosen)), missing];
  };
  expect(kinds(() => true)).toEqual([new Set(['frr']), []]);
  expect(kinds(only('bird'))).toEqual([new Set(['bird']), []]);
  expect(kinds(only('node'))).toEqual([new Set(['own']), ['frr', 'bird']]);
  expect(kinds(only('node'), 'frr')).toEqual([new Set(['own']), ['frr']]);
});

test('routers report to both operators, where the topology says so', () => {
  const { topology: watched } = loadTopology('partition');
  const plan = planRouter(watched, watched.routers[0]!);
  const text = frr.files(plan, '/x')['bgpd.conf']!;
  expect(text).toContain('  bmp connect 198.18.0.1 port 11019 ');
  expect(text).toContain('  bmp connect 198.18.0.1 port 11020 ');
  const config = bird.files(plan, '/x')['bird.conf']!;
  expect(config).toContain('neighbor 198.18.0.1 port 1790 as 64524;');
  expect(config).toContain('neighbor 198.18.0.1 port 1791 as 64524;');
  expect(frr.files(planOf('r238'), '/x')['bgpd.conf']).not.toContain('bmp');
});
