import { expect, test } from 'vitest';
import { loadConfigMap } from '../../model/bgp-config-map.ts';
import { clusterPeerDefaults, readBgpPeer } from '../../model/bgp-peer.ts';
import { defaultRouterId, nodePeers } from './node-peers.ts';

const node = (labels: Record<string, string>, addresses = ['10.4.94.32']) => ({
  name: 'n1',
  labels,
  addresses,
});

/** The second topology of the fifth document. */
const config = `
peers:
  - peer-address: 10.4.94.248
    peer-asn: 64524
    my-asn: 64513
    node-selectors:
      - match-expressions:
          - { key: kubernetes/route, operator: NotIn, values: [bgp-peer-83] }
  - peer-address: 10.4.36.250
    peer-asn: 64512
    my-asn: 64512
    node-selectors:
      - match-labels: { kubernetes/route: bgp-peer-83 }
`;

function configured() {
  const result = loadConfigMap(config);
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.problems));
  return result.config.peers;
}

test('the peers of the ConfigMap are told apart by node selectors', () => {
  const names = (labels: Record<string, string>) =>
    nodePeers(configured(), node(labels)).map(({ name, asn }) => `${name} AS${asn}`);
  expect(names({})).toEqual(['10.4.94.248 AS64524']);
  expect(names({ 'kubernetes/route': 'bgp-peer-83' })).toEqual(['10.4.36.250 AS64512']);
});

test('a BGPPeer object has its defaults, and the node its identifier', () => {
  const read = readBgpPeer({
    metadata: { name: 'tor1' },
    spec: { address: '10.4.94.1', asn: 64524, localASN: 64513, families: ['ipv4'] },
  });
  if (read.kind === 'malformed') throw new Error(read.problem);
  expect(nodePeers([read.peer], node({}))).toEqual([
    {
      ...clusterPeerDefaults,
      name: 'tor1',
      address: '10.4.94.1',
      asn: 64524,
      localAsn: 64513,
      routerId: '10.4.94.32',
      families: ['ipv4'],
    },
  ]);
});

test('a BGPPeer without an address is malformed, and says so', () => {
  expect(readBgpPeer({ metadata: { name: 'x' }, spec: { asn: 1 } })).toMatchObject({
    kind: 'malformed',
    problem: 'spec.address is missing',
  });
});

test('a node of IPv6 alone has an identifier of its own that stays the same', () => {
  const id = defaultRouterId(node({}, ['fd00::1']));
  expect(id).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
  expect(defaultRouterId(node({}, []))).toBe(id);
  expect(defaultRouterId({ ...node({}, []), name: 'n2' })).not.toBe(id);
});

test('routes of the other family go by the address that the node has in it', () => {
  const peers = configured();
  const both = node({}, ['10.4.94.32', 'fd00:94::32']);
  expect(nodePeers(peers, both)[0]?.nextHop).toEqual({ ipv6: 'fd00:94::32' });
  expect(nodePeers(peers, node({}))[0]?.nextHop).toBeUndefined();
  const overIpv6 = peers.map((peer) => ({ ...peer, address: 'fd00:94::1' }));
  expect(nodePeers(overIpv6, both)[0]?.nextHop).toEqual({ ipv4: '10.4.94.32' });
  const ipv4Alone = peers.map((peer) => ({ ...peer, families: ['ipv4' as const] }));
  expect(nodePeers(ipv4Alone, both)[0]?.nextHop).toBeUndefined();
});

test('with a router on the node itself the next hop is the node, not loopback', () => {
  const local = configured().map((peer) => ({ ...peer, address: '127.0.0.1' }));
  const both = node({}, ['10.4.94.32', 'fd00:94::32']);
  expect(nodePeers(local, both)[0]?.nextHop).toEqual({ ipv4: '10.4.94.32', ipv6: 'fd00:94::32' });
});
