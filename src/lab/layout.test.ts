import { expect, test } from 'vitest';
import { becomeGateway, layOut, legName, routerLines } from './layout.ts';
import { loadTopology, shippedTopologies } from './topologies.ts';

test.each(shippedTopologies())(
  '%s: every machine has a name of its own, and every link fits',
  (name) => {
    const { topology } = loadTopology(name);
    const { machines, fabricLines } = layOut('lab', topology);
    expect(new Set(machines.map((one) => one.name)).size).toBe(machines.length);
    const links = fabricLines.flatMap((line) => /link add (\S+)/.exec(line)?.[1] ?? []);
    expect(new Set(links).size).toBe(links.length);
    for (const link of [...links, ...topology.subnets.map((one) => legName(one.name))]) {
      expect(link.length).toBeLessThanOrEqual(15);
    }
  },
);

const { topology } = loadTopology('two-racks');
const linesOf = (name: string) =>
  layOut('x', topology).machines.find((one) => one.name === name)!.lines;

test('a node stands in its subnet, behind its gateway, and on the management network', () => {
  expect(linesOf('b1')).toEqual([
    'link set lo up',
    'addr add 10.4.83.7/24 dev eth0',
    'link set eth0 up',
    'route replace default via 10.4.83.1 dev eth0',
    'addr add 198.18.0.12/24 dev mgmt0',
    'link set mgmt0 up',
  ]);
});

test('the first router of a subnet keeps the gateway, and answers from it on every side', () => {
  expect(linesOf('r250')).toEqual([
    'link set lo up',
    'addr replace 10.4.36.250/32 dev lo',
    'addr replace 10.4.83.1/24 dev rack-83',
    'link set rack-83 address 00:00:5e:00:01:02',
    'addr replace 10.4.83.2/24 dev rack-83',
    'link set rack-83 up',
    'addr replace 10.4.83.1/32 dev core',
    'link set core up',
    'route replace 10.4.36.238/32 dev core',
    'route replace 10.4.36.239/32 dev core',
    'route replace 10.4.36.251/32 dev core',
  ]);
  expect(linesOf('r251')).toContain('addr replace 10.4.83.3/32 dev core');
  expect(linesOf('r251').join()).not.toContain('10.4.83.1/');
});

test('a twin that takes over answers from the gateway address too', () => {
  const twin = topology.routers.find(({ name }) => name === 'r251')!;
  const rack = topology.subnets.find(({ name }) => name === 'rack-83')!;
  expect(becomeGateway(topology, twin, rack)).toEqual([
    'addr replace 10.4.83.1/24 dev rack-83',
    'link set rack-83 address 00:00:5e:00:01:02',
    'addr del 10.4.83.3/24 dev rack-83',
    'addr add 10.4.83.3/24 dev rack-83',
    'addr replace 10.4.83.1/32 dev core',
    'addr del 10.4.83.3/32 dev core',
  ]);
  expect(routerLines(topology, topology.routers[0]!, () => false).join()).not.toContain(
    '10.4.94.1/',
  );
});

test('routers without a routing protocol have the other subnets written down', () => {
  const overlay = loadTopology('overlay').topology;
  const { machines } = layOut('x', overlay);
  const r250 = machines.find((one) => one.name === 'r250')!.lines;
  expect(r250).toContain('route replace 10.4.94.0/24 via 10.4.36.238 dev core onlink');
  expect(r250).toContain('route replace 10.9.25.0/24 via 10.4.36.238 dev core onlink');
});

test('routers that report are on the management network, and known there by their loopbacks', () => {
  const { topology: watched } = loadTopology('partition');
  const { machines } = layOut('x', watched);
  const lines = (name: string) => machines.find((one) => one.name === name)!.lines;
  expect(lines('r239')).toContain('addr add 198.18.0.231/24 dev mgmt0');
  expect(lines('control')).toContain('route add 10.4.36.239/32 via 198.18.0.231 dev mgmt0');
  expect(linesOf('r250').join()).not.toContain('mgmt0');
});
