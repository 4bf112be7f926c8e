import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Address, parseAddress } from '../../net/address.ts';
import { Prefix, parsePrefix } from '../../net/prefix.ts';
import {
  type DesiredRoutes,
  desiredRoutes,
  type RoutedNode,
  type Routing,
  type RoutingInput,
  routings,
  type Uplink,
} from './desired-routes.ts';

const ip = (text: string): Address => parseAddress(text)!;

function node(name: string, addresses: string[], blocks: string[], createdMs = 0): RoutedNode {
  return {
    name,
    createdMs,
    addresses,
    blocks: blocks.map((text) => ({ prefix: parsePrefix(text)! })),
  };
}

function uplink(name: string, ...addresses: string[]): Uplink {
  return {
    name,
    mtu: 1500,
    addresses: addresses.map((text) => {
      const [address, length] = text.split('/');
      return { address: ip(address!), length: Number(length) };
    }),
  };
}

/** The second topology of the fifth document: two subnets. */
const master1 = node('master1', ['10.4.94.32'], ['10.5.113.0/24']);
const master2 = node('master2', ['10.4.94.21'], ['10.5.115.0/24']);
const far = node('node83', ['10.4.83.7'], ['10.5.112.0/24']);
const eth0 = uplink('eth0', '10.4.94.32/24');

function plan(routing: Routing, change: Partial<RoutingInput> = {}): DesiredRoutes {
  return desiredRoutes({
    self: master1,
    others: [master2, far],
    uplinks: [eth0],
    routing,
    directRoutes: true,
    tunnelDevice: 'cad_vx',
    tunnelMacOf: (name) => `mac of ${name}`,
    ...change,
  });
}

const lines = ({ routes }: DesiredRoutes) =>
  routes.map(({ prefix, type, via, device }) =>
    [type, prefix, via && `via ${via}`, device && `dev ${device}`].filter(Boolean).join(' '),
  );

describe('native routing', () => {
  test('own blocks are unreachable but for their pods, neighbours are direct, the rest is the routers', () => {
    expect(lines(plan('native'))).toEqual([
      'unreachable 10.5.113.0/24',
      '10.5.115.0/24 via 10.4.94.21 dev eth0',
    ]);
    expect(plan('native').tunnel).toBeUndefined();
    expect(plan('native').findings).toEqual([]);
  });

  test('without direct routes only the own blocks are ours to route', () => {
    expect(lines(plan('native', { directRoutes: false }))).toEqual(['unreachable 10.5.113.0/24']);
  });

  test('a node that moves to another subnet, and one without blocks, have no route', () => {
    const moved = { ...master2, addresses: ['10.4.83.21'] };
    const empty = node('master3', ['10.4.94.31'], []);
    expect(lines(plan('native', { others: [moved, empty] }))).toEqual([
      'unreachable 10.5.113.0/24',
    ]);
  });

  test('each family goes by an address of its own, out of the interface that has it', () => {
    const both = node('b', ['10.4.94.5', 'fd94::5'], ['10.5.1.0/24', 'fd00:1::/64']);
    const only4 = node('c', ['10.4.94.6'], ['fd00:2::/64']);
    const uplinks = [eth0, uplink('eth1', 'fd94::32/64')];
    expect(lines(plan('native', { others: [both, only4], uplinks }))).toEqual([
      '10.5.1.0/24 via 10.4.94.5 dev eth0',
      'unreachable 10.5.113.0/24',
      'fd00:1::/64 via fd94::5 dev eth1',
    ]);
  });

  test('a /32 on an interface is no network, and the longest network wins', () => {
    const uplinks = [
      uplink('lo0', '10.4.94.32/32'),
      uplink('wide', '10.4.0.9/16'),
      uplink('near', '10.4.94.32/24'),
    ];
    expect(lines(plan('native', { uplinks }))).toEqual([
      '10.5.112.0/24 via 10.4.83.7 dev wide',
      'unreachable 10.5.113.0/24',
      '10.5.115.0/24 via 10.4.94.21 dev near',
    ]);
  });
});

describe('the tunnel', () => {
  test('to all nodes', () => {
    const made = plan('vxlan');
    expect(lines(made)).toEqual([
      '10.5.112.0/24 via 10.5.112.1 dev cad_vx',
      'unreachable 10.5.113.0/24',
      '10.5.115.0/24 via 10.5.115.1 dev cad_vx',
    ]);
    expect(made.tunnel).toEqual({
      kind: 'vxlan',
      local: ip('10.4.94.32'),
      mac: 'mac of master1',
      mtu: 1450,
      addresses: [{ address: ip('10.5.113.1'), length: 32 }],
      neighbours: [
        { address: ip('10.5.115.1'), mac: 'mac of master2' },
        { address: ip('10.5.112.1'), mac: 'mac of node83' },
      ],
      forwardingEntries: [
        { mac: 'mac of master2', remote: ip('10.4.94.21') },
        { mac: 'mac of node83', remote: ip('10.4.83.7') },
      ],
    });
  });

  test('by Geneve: the route itself says behind which node', () => {
    const made = plan('geneve-across-subnets');
    expect(lines(made)).toEqual([
      '10.5.112.0/24 via 10.5.112.1 dev cad_vx',
      'unreachable 10.5.113.0/24',
      '10.5.115.0/24 via 10.4.94.21 dev eth0',
    ]);
    expect(made.routes[0]?.tunnel).toEqual({ vni: 1, remote: ip('10.4.83.7') });
    expect(made.tunnel).toMatchObject({
      kind: 'geneve',
      mtu: 1450,
      neighbours: [{ address: ip('10.5.112.1'), mac: 'mac of node83' }],
      forwardingEntries: [],
    });
  });

  test('leaves 20 bytes less where the nodes speak IPv6', () => {
    const self = node('six', ['fd04::1'], ['10.5.113.0/24']);
    const made = plan('vxlan', { self, uplinks: [uplink('eth0', 'fd04::1/64')] });
    expect(made.tunnel).toMatchObject({ local: ip('fd04::1'), mtu: 1430 });
  });

  test('only across subnets', () => {
    const made = plan('vxlan-across-subnets', { directRoutes: false });
    expect(lines(made)).toEqual([
      '10.5.112.0/24 via 10.5.112.1 dev cad_vx',
      'unreachable 10.5.113.0/24',
      '10.5.115.0/24 via 10.4.94.21 dev eth0',
    ]);
    expect(made.tunnel?.forwardingEntries).toEqual([
      { mac: 'mac of node83', remote: ip('10.4.83.7') },
    ]);
  });

  test('carries IPv6 pods over an IPv4 underlay, with one FDB entry a node', () => {
    const other = node('b', ['10.4.83.5'], ['10.5.1.0/24', 'fd00:1::/64']);
    const made = plan('vxlan', { others: [other] });
    expect(lines(made)).toContain('fd00:1::/64 via fd00:1::1 dev cad_vx');
    expect(made.tunnel?.forwardingEntries).toHaveLength(1);
  });

  test('a node without an address of the underlay is found, not routed', () => {
    const made = plan('vxlan', { others: [node('b', ['fd83::5'], ['10.5.1.0/24'])] });
    expect(lines(made)).toEqual(['unreachable 10.5.113.0/24']);
    expect(made.findings).toMatchObject([{ reason: 'NoAddressOfFamily', cidr: '10.5.1.0/24' }]);
  });
});

describe('what others claim', () => {
  test.each([
    ['10.5.113.0/24', 'OverlappingBlocks'],
    ['10.5.113.128/25', 'OverlappingBlocks'],
    ['10.5.0.0/16', 'OverlappingBlocks'],
    ['10.4.94.0/24', 'OverlapsNetwork'],
    ['10.4.83.0/24', 'OverlapsNetwork'],
    ['0.0.0.0/0', 'OverlappingBlocks'],
  ])('%s has no route: %s', (cidr, reason) => {
    const made = plan('vxlan', { others: [node('liar', ['10.4.94.66'], [cidr]), far] });
    expect(made.findings).toMatchObject([{ reason, cidr }]);
    expect(lines(made)).toHaveLength(2);
  });

  test('the older of two holders of one block is believed', () => {
    const old = node('z', ['10.4.94.5'], ['10.5.1.0/24'], 1);
    const young = node('a', ['10.4.94.6'], ['10.5.1.0/24', '10.5.1.0/25'], 2);
    const made = plan('native', { others: [young, old] });
    expect(lines(made)).toEqual([
      '10.5.1.0/24 via 10.4.94.5 dev eth0',
      'unreachable 10.5.113.0/24',
    ]);
    expect(made.findings.map(({ reason }) => reason)).toEqual([
      'DuplicateBlock',
      'OverlappingBlocks',
    ]);
  });
});

describe('for any cluster', () => {
  const block = fc
    .tuple(fc.nat(63), fc.integer({ min: 20, max: 30 }))
    .map(([third, length]) => String(Prefix.of(ip(`10.5.${third}.0`), length)));
  const address = fc.tuple(fc.constantFrom(83, 94), fc.nat(255)).map(([n, h]) => `10.4.${n}.${h}`);
  const cluster = fc
    .array(fc.record({ address, blocks: fc.array(block, { maxLength: 3 }), age: fc.nat(3) }), {
      minLength: 1,
      maxLength: 12,
    })
    .map((all) => all.map((one, i) => node(`n${i}`, [one.address], one.blocks, one.age)));
  const input = fc.record({
    all: cluster,
    routing: fc.constantFrom(...routings),
    directRoutes: fc.boolean(),
    seed: fc.nat(),
  });
  const of = ({
    all,
    routing,
    directRoutes,
  }: { all: RoutedNode[] } & Pick<RoutingInput, 'routing' | 'directRoutes'>) => {
    const [self, ...others] = all;
    const uplinks = [uplink('eth0', `${self!.addresses[0]}/24`)];
    return plan(routing, { self: self!, others, uplinks, directRoutes });
  };

  test('own blocks are never routed out, and every other route leads to a holder of that block', () => {
    fc.assert(
      fc.property(input, (given) => {
        const { routes, tunnel } = of(given);
        const [self, ...others] = given.all;
        for (const route of routes) {
          const isOwn = self!.blocks.some(({ prefix }) => prefix.equals(route.prefix));
          expect(route.type === 'unreachable').toBe(isOwn);
          if (isOwn) continue;
          expect(self!.blocks.some(({ prefix }) => prefix.overlaps(route.prefix))).toBe(false);
          const hop =
            route.device === 'cad_vx'
              ? tunnel?.neighbours.find(({ address: a }) => a.equals(route.via!))?.mac
              : others.find(
                  (other) =>
                    other.addresses[0] === String(route.via) &&
                    other.blocks.some(({ prefix }) => prefix.equals(route.prefix)),
                )?.name;
          const holders = others.filter(({ blocks }) =>
            blocks.some(({ prefix }) => prefix.equals(route.prefix)),
          );
          expect(holders.map(({ name }) => name)).toContain(hop?.replace('mac of ', ''));
        }
        const prefixes = routes.map(({ prefix }) => prefix);
        for (const [i, a] of prefixes.entries()) {
          for (const b of prefixes.slice(i + 1)) {
            const isOwnPair = self!.blocks.some(({ prefix }) => prefix.equals(a));
            expect(a.overlaps(b) && !isOwnPair).toBe(false);
          }
        }
      }),
    );
  });

  test('the order in which nodes are known does not matter', () => {
    fc.assert(
      fc.property(input, (given) => {
        const [self, ...others] = given.all;
        const shuffled = others
          .map((other, i) => ({ other, at: (i * 7919 + given.seed) % 101 }))
          .sort((a, b) => a.at - b.at)
          .map(({ other }) => other);
        expect(of({ ...given, all: [self!, ...shuffled] })).toEqual(of(given));
      }),
    );
  });
});
