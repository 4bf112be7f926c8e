import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readTopology } from './read-topology.ts';
import { loadTopology, shippedTopologies } from './topologies.ts';
import { gatewayRouter } from './topology.ts';

const shipped = join(import.meta.dirname, '../../topologies');
const incident = readFileSync(join(shipped, 'incident.yaml'), 'utf8');

test('every shipped topology can be read, and says what it is about', () => {
  expect(shippedTopologies()).toEqual([
    'by-demand',
    'dual-stack',
    'incident',
    'overlay',
    'partition',
    'pools',
    'spares',
    'two-racks',
  ]);
  for (const name of shippedTopologies()) {
    expect(loadTopology(name).topology.about).not.toBe('');
  }
});

test('the incident is as it was: who holds what by which record', () => {
  const { topology } = loadTopology('incident');
  expect(
    topology.nodes.map((node) => [
      node.name,
      node.addresses.ipv4,
      node.podCidr,
      node.ciliumPodCidr,
    ]),
  ).toEqual([
    ['master1', '10.4.94.32', '10.5.112.0/24', '10.5.113.0/24'],
    ['master2', '10.4.94.21', '10.5.114.0/24', '10.5.115.0/24'],
    ['master3', '10.4.94.31', '10.5.113.0/24', '10.5.114.0/24'],
    ['node1', '10.4.94.23', '10.5.115.0/24', '10.5.112.0/24'],
  ]);
  expect(topology.routers.map(({ address, asn }) => `${address} AS${asn}`)).toEqual([
    '10.4.36.238 AS64524',
    '10.4.36.239 AS64524',
  ]);
  expect(topology.peers.map(({ asn }) => asn)).toEqual([64513, 64513]);
  expect(topology.clusterPool).toEqual({ cidr: '10.5.112.0/21', maskSize: 24 });
  expect(gatewayRouter(topology, 'rack-94')?.name).toBe('r238');
});

test('a spare machine has not joined', () => {
  const { topology } = loadTopology('spares');
  expect(topology.nodes.map(({ name, isSpare }) => [name, isSpare])).toEqual([
    ['n1', false],
    ['n2', false],
    ['n3', false],
    ['s1', true],
  ]);
});

const refused = (text: string) => {
  const read = readTopology('x', text);
  if (read.kind === 'topology') return [];
  return read.problems.map(({ line, sentence }) => `${line}: ${sentence}`);
};

/** The incident with one thing changed, and what is said about it. */
test.each([
  [
    'address: 10.4.94.21',
    'address: 10.4.94.32',
    '10.4.94.32 is the address of nodes.master1 already',
  ],
  ['router: r239', 'router: r240', 'there is no router "r240"; there are: r238, r239'],
  [
    'ipam: cluster-pool',
    'ipam: clusterpool',
    'ipam is clusterpool; it can be ip-pool, cluster-pool, cluster-pool-v2',
  ],
  ['ipam: cluster-pool', 'ipam: ip-pool', 'ipam ip-pool needs pools'],
  [
    'gateway: 10.4.94.1',
    'gateway: 10.4.94.32',
    'the gateway 10.4.94.32 is the address of nodes.master1',
  ],
  [
    'cidr: 10.9.25.0/24',
    'cidr: 198.18.0.0/25',
    '198.18.0.0/25 overlaps 198.18.0.0/24 of the management network',
  ],
  ['podCIDR: 10.5.112.0/24', 'podCIDR: 10.5.112.7/24', 'nodes.master1.podCIDR: '],
  [
    'podCIDR: 10.5.112.0/24',
    'podCIDR: 10.4.94.0/25',
    '10.4.94.0/25 overlaps 10.4.94.0/24 of rack-94',
  ],
  [
    '  master1:',
    '  Master_1:',
    'the name Master_1 must be up to 20 small letters, digits and dashes',
  ],
  ['  master1:', '  r238:', 'there is a machine called r238 already'],
  [
    'asn: 64524',
    'asn: 0',
    'routers.r238.asn must be a whole number from 1 to 4294967295, and is 0',
  ],
  ['address: 10.4.94.32', 'address: [10.4.94.32, 10.4.94.33]', 'is a second one of its family'],
])('%s → %s is refused', (before, after, sentence) => {
  expect(incident).toContain(before);
  expect(refused(incident.replace(before, after)).join('\n')).toContain(sentence);
});

test('a pool is judged as the operator would judge it', () => {
  const pools = readFileSync(join(shipped, 'pools.yaml'), 'utf8');
  expect(refused(pools.replace('ipv4: 26', 'ipv4: 16')).join()).toContain(
    'pools.rack-81: spec.blockSize',
  );
});
