import { describe, expect, test } from 'vitest';
import { largestBlockLength, parseAddressRange } from './bgp-config/address-range.ts';
import { parseGoDuration } from './bgp-config/go-duration.ts';
import { loadConfigMap, loadConfigMapObject } from './bgp-config-map.ts';
import { clusterPeerDefaults } from './bgp-peer.ts';

/** The ConfigMap of the two-rack cluster, as it was printed by kubectl. */
const printed = `apiVersion: v1
data:
  config.yaml: |
    peers:
      - peer-address: 10.4.36.239
        peer-asn: 64524
        my-asn: 64513
      - peer-address: 10.4.36.238
        peer-asn: 64524
        my-asn: 64513
      - peer-address: 10.4.36.250
        peer-asn: 64512
        my-asn: 64512
        node-selectors:
        - match-expressions:
          - key: kubernetes/route
            operator: In
            values: ["bgp-peer-83"]
      - peer-address: 10.4.36.251
        peer-asn: 64512
        my-asn: 64512
        node-selectors:
        - match-expressions:
          - key: kubernetes/route
            operator: In
            values: ["bgp-peer-83"]
    address-pools:
      - name: default
        protocol: bgp
        addresses:
          - 10.5.112.0/21
kind: ConfigMap
metadata:
  name: bgp-config
  namespace: kube-system
`;

/** Every key of the grammar. */
const whole = `
peers:
- peer-address: fd00::1
  peer-port: 1179
  peer-asn: 4200000000
  my-asn: 64513
  source-address: fd00::2
  hold-time: 1m30s
  keepalive-time: 10s
  router-id: 10.0.0.1
  password: 12345
  ebgp-multihop: true
  node-selectors:
  - match-labels: { rack: "83" }
    match-expressions:
    - { key: gpu, operator: Exists }
  - match-expressions:
    - { key: zone, operator: NotIn, values: [a, b] }
address-pools:
- name: public
  protocol: bgp
  addresses: [192.0.2.0/24, 198.51.100.10-198.51.100.20, "2001:db8::/64"]
  auto-assign: no
  avoid-buggy-ips: true
  bgp-advertisements:
  - aggregation-length: 32
    aggregation-length-v6: 64
    localpref: 150
    communities: [no-export, 64512:7, 64512:7]
  - {}
- name: lan
  protocol: layer2
  addresses: [10.0.0.1-10.0.0.9]
bgp-communities:
  no-export: 65535:65281
`;

function config(text: string) {
  const result = loadConfigMap(text);
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.problems));
  return result.config;
}

function problems(text: string): string[] {
  const result = loadConfigMap(text);
  if (result.kind === 'config') throw new Error('it was accepted');
  return result.problems.map((one) => `${one.line} ${one.key}: ${one.sentence}`);
}

describe('the ConfigMap', () => {
  test('of the two-rack cluster loads as it stands', () => {
    const { peers, pools } = config(printed);
    expect(peers.map((peer) => `${peer.address} ${peer.asn} ${peer.localAsn}`)).toEqual([
      '10.4.36.239 64524 64513',
      '10.4.36.238 64524 64513',
      '10.4.36.250 64512 64512',
      '10.4.36.251 64512 64512',
    ]);
    expect(peers[0]).toEqual({
      ...clusterPeerDefaults,
      name: '10.4.36.239',
      address: '10.4.36.239',
      asn: 64524,
      localAsn: 64513,
      nodeSelectors: [],
    });
    expect(peers[2]!.nodeSelectors).toEqual([
      {
        matchLabels: {},
        matchExpressions: [{ key: 'kubernetes/route', operator: 'In', values: ['bgp-peer-83'] }],
      },
    ]);
    expect(pools).toEqual([
      {
        name: 'default',
        protocol: 'bgp',
        addresses: [
          { family: 'ipv4', first: '10.5.112.0', last: '10.5.119.255', text: '10.5.112.0/21' },
        ],
        autoAssign: true,
        avoidBuggyIps: false,
        advertisements: [{ aggregationLength: 32, aggregationLengthV6: 128, communities: [] }],
      },
    ]);
  });

  test('loads with every key of the grammar', () => {
    const { peers, pools, communities } = config(whole);
    expect(peers).toEqual([
      {
        ...clusterPeerDefaults,
        name: 'fd00::1',
        address: 'fd00::1',
        port: 1179,
        asn: 4200000000,
        localAsn: 64513,
        localAddress: 'fd00::2',
        holdSeconds: 90,
        keepaliveSeconds: 10,
        routerId: '10.0.0.1',
        password: '12345',
        nodeSelectors: [
          {
            matchLabels: { rack: '83' },
            matchExpressions: [{ key: 'gpu', operator: 'Exists', values: [] }],
          },
          {
            matchLabels: {},
            matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a', 'b'] }],
          },
        ],
      },
    ]);
    expect(pools[0]!.addresses.map((one) => `${one.first}-${one.last}`)).toEqual([
      '192.0.2.0-192.0.2.255',
      '198.51.100.10-198.51.100.20',
      '2001:db8::-2001:db8::ffff:ffff:ffff:ffff',
    ]);
    expect([pools[0]!.autoAssign, pools[0]!.avoidBuggyIps]).toEqual([false, true]);
    expect(pools[0]!.advertisements).toEqual([
      {
        aggregationLength: 32,
        aggregationLengthV6: 64,
        localPref: 150,
        communities: [0xffffff01, 64512 * 65536 + 7],
      },
      { aggregationLength: 32, aggregationLengthV6: 128, communities: [] },
    ]);
    expect(pools[1]).toMatchObject({ protocol: 'layer2', advertisements: [] });
    expect(communities.get('no-export')).toBe(0xffffff01);
  });

  test('loads from the object the API server returns, under either key', () => {
    const data = 'peers:\naddress-pools:\n';
    for (const key of ['config.yaml', 'config']) {
      expect(loadConfigMapObject({ data: { [key]: data } })).toMatchObject({
        kind: 'config',
        config: { peers: [], pools: [] },
      });
    }
    expect(loadConfigMapObject({})).toMatchObject({ problems: [{ key: 'data' }] });
    expect(loadConfigMapObject({ data: { config: data, conf: '' } })).toMatchObject({
      problems: [{ key: 'data.conf' }],
    });
  });

  test('may use anchors, aliases and merges', () => {
    const text = `
peers:
- &base { peer-address: 10.0.0.1, peer-asn: 64512, my-asn: 64513 }
- <<: *base
  peer-address: 10.0.0.2
`;
    expect(config(text).peers.map((peer) => `${peer.address} ${peer.asn}`)).toEqual([
      '10.0.0.1 64512',
      '10.0.0.2 64512',
    ]);
  });
});

describe('what it does not know is an error with line and key', () => {
  test('also inside a file of the ConfigMap, where lines are those of the file', () => {
    expect(problems(printed.replace('my-asn: 64512', 'my-as: 64512'))).toEqual([
      `11 peers[2].my-asn: my-asn is missing`,
      `13 peers[2].my-as: unknown key "my-as"; known here are peer-address, peer-port, peer-asn, my-asn, source-address, router-id, hold-time, keepalive-time, password, ebgp-multihop, node-selectors, bfd-profile`,
    ]);
    expect(problems(printed.replace('config.yaml', 'config.yml'))).toEqual([
      '3 data.config.yml: a ConfigMap for BGP holds nothing but config.yaml (or config)',
    ]);
  });

  test.each([
    [
      'peer: []',
      '1 peer: unknown key "peer"; known here are peers, address-pools, bgp-communities, bfd-profiles',
    ],
    ['- a', '1 : the configuration must be a mapping of keys'],
    ['peers: 3', '1 peers: peers must be a list'],
    ['peers: [1]', '1 peers[0]: peers[0] must be a mapping of keys'],
    ['bfd-profiles: []', '1 bfd-profiles: BFD is not supported; take the profiles out'],
    ['peers:\n  - a: [', '2 : not YAML'],
    ['peers: []\npeers: []', '2 : not YAML: Map keys must be unique'],
  ])('%j', (text, expected) => {
    expect(problems(text).some((one) => one.startsWith(expected))).toBe(true);
  });

  const peer = (line: string) =>
    `peers:\n- peer-address: 10.0.0.1\n  peer-asn: 64512\n  my-asn: 64513\n  ${line}\n`;

  test.each([
    [
      'hold-time: 2s',
      '5 peers[0].hold-time: hold-time is 2, not 0 or a whole number from 3 to 65535',
    ],
    [
      'keepalive-time: 0s',
      '5 peers[0].keepalive-time: keepalive-time is 0, not a whole number from 1 to 21845',
    ],
    [`password: ${'x'.repeat(81)}`, '5 peers[0].password: password has more than 80 octets'],
    ['hold-time: 90', '5 peers[0].hold-time: "90" is not a duration such as 90s or 1m30s'],
    [
      'keepalive-time: 90s',
      '5 peers[0].keepalive-time: keepalive-time must be shorter than hold-time',
    ],
    [
      'peer-port: 0',
      '5 peers[0].peer-port: peers[0].peer-port must be a whole number from 1 to 65535, and is 0',
    ],
    [
      'router-id: fd00::1',
      '5 peers[0].router-id: router-id is "fd00::1", not an identifier such as 192.0.2.1',
    ],
    [
      'source-address: fd00::1',
      '5 peers[0].source-address: source-address and peer-address are of different families',
    ],
    [
      'ebgp-multihop: maybe',
      '5 peers[0].ebgp-multihop: peers[0].ebgp-multihop must be true or false',
    ],
    [
      'bfd-profile: x',
      '5 peers[0].bfd-profile: BFD is not supported; take the key out, the session lives on BGP hold time alone',
    ],
    [
      'node-selectors: [{ match-expressions: [{ key: a, operator: in }] }]',
      '5 peers[0].node-selectors[0].match-expressions[0].operator: operator "in" must be one of In, NotIn, Exists, DoesNotExist',
    ],
    [
      'node-selectors: [{ match-expressions: [{ key: a, operator: In }] }]',
      '5 peers[0].node-selectors[0].match-expressions[0].values: operator In needs values',
    ],
    [
      'node-selectors: [{ matchLabels: {} }]',
      '5 peers[0].node-selectors[0].matchLabels: unknown key "matchLabels"; known here are match-labels, match-expressions',
    ],
  ])('a peer with %s', (line, expected) => {
    expect(problems(peer(line))).toEqual([expected]);
  });

  test('a peer without what every peer needs, and multihop inside one AS', () => {
    expect(problems('peers:\n- {}')).toEqual([
      '2 peers[0].peer-address: peer-address is missing',
      '2 peers[0].peer-asn: peer-asn is missing',
      '2 peers[0].my-asn: my-asn is missing',
    ]);
    expect(problems(peer('ebgp-multihop: true').replace('64513', '64512'))).toEqual([
      '2 peers[0].ebgp-multihop: ebgp-multihop makes no sense with a peer in our own AS',
    ]);
  });

  test('a hold time of 0 with keepalives of 0, as MetalLB writes it, is fine', () => {
    const { peers } = config(peer('hold-time: 0s\n  keepalive-time: 0s'));
    expect(peers[0]).toMatchObject({ holdSeconds: 0 });
    expect(peers[0]?.keepaliveSeconds).toBeUndefined();
  });

  const pool = (line: string) =>
    `address-pools:\n- name: a\n  protocol: bgp\n  addresses: [192.0.2.0/24]\n${line}\n`;

  test.each([
    [
      '- name: b\n  protocol: bgp\n  addresses: [192.0.2.7-192.0.2.9]',
      '5 address-pools[1].addresses: 192.0.2.7-192.0.2.9 overlaps 192.0.2.0/24 of pool a',
    ],
    [
      '- name: a\n  protocol: bgp\n  addresses: [198.51.100.0/24]',
      '5 address-pools[1].name: two address pools are called a',
    ],
    [
      '- name: b\n  protocol: arp\n  addresses: [198.51.100.0/24]',
      '6 address-pools[1].protocol: protocol "arp" must be bgp or layer2',
    ],
    ['- name: b\n  protocol: bgp', '5 address-pools[1].addresses: an address pool needs addresses'],
    [
      '- name: b\n  protocol: bgp\n  addresses: [10.0.0.9-10.0.0.1]',
      '7 address-pools[1].addresses[0]: "10.0.0.9-10.0.0.1" ends before it begins',
    ],
    [
      '- name: b\n  protocol: bgp\n  addresses: [10.0.0.0/33]',
      '7 address-pools[1].addresses[0]: "10.0.0.0/33" is neither a CIDR nor a range of addresses',
    ],
    [
      '  bgp-advertisements:\n  - aggregation-length: 23',
      '6 address-pools[0].bgp-advertisements[0].aggregation-length: aggregation-length 23 would announce more than 192.0.2.0/24',
    ],
    [
      '  bgp-advertisements:\n  - communities: [nowhere]',
      '6 address-pools[0].bgp-advertisements[0].communities[0]: "nowhere" is neither a community such as 64512:100 nor a name of bgp-communities',
    ],
    [
      'bgp-communities:\n  big: 64512:65536',
      '6 bgp-communities.big: "64512:65536" is not a community such as 64512:100',
    ],
  ])('a pool with %j', (line, expected) => {
    expect(problems(pool(line))).toEqual([expected]);
  });
});

test('durations are read as Go reads them', () => {
  expect(['90s', '1m30s', '0', '1.5h', '500ms'].map(parseGoDuration)).toEqual([
    90, 90, 0, 5400, 0.5,
  ]);
  expect(['', '90', 's', '-3s', '3 s', '1d'].map(parseGoDuration)).toEqual(
    Array(6).fill(undefined),
  );
});

test('the largest block of a range is found at any alignment', () => {
  const length = (text: string) => {
    const range = parseAddressRange(text);
    if (typeof range === 'string') throw new Error(range);
    return largestBlockLength(range);
  };
  expect(length('192.0.2.0/24')).toBe(24);
  expect(length('192.0.2.1-192.0.2.255')).toBe(25);
  expect(length('10.0.0.1-10.0.0.1')).toBe(32);
  expect(length('128.0.0.0/3')).toBe(3);
  expect(length('2001:db8::1-2001:db8::ffff')).toBe(113);
});
