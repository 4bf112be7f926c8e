import { describe, expect, test } from 'vitest';
import { parsePrefix } from '../../net/prefix.ts';
import { findHijacks, hijackText, type NeighborRouter, type ReceivedPath } from './hijacks.ts';

const own4 = '10.5.113.0/24';
const own6 = 'fd00:5:113::/64';
const blocks = [own4, own6].map((text) => parsePrefix(text)!);

function router(name: string, change: Partial<NeighborRouter> = {}): NeighborRouter {
  return {
    name,
    address: name === 'tor1' ? '10.4.94.1' : '10.4.94.2',
    asn: 64524,
    localAsn: 64513,
    routerId: '10.4.94.32',
    ownAddresses: ['10.4.94.32', 'fd04:94::0032'],
    announced: new Map([
      [own4, '10.4.94.32'],
      [own6, 'fd04:94::32'],
    ]),
    announcedBefore: new Set(),
    ...change,
  };
}

function path(prefix: string, nextHop: string, change: Partial<ReceivedPath> = {}): ReceivedPath {
  return {
    peer: 'tor1',
    prefix: parsePrefix(prefix)!,
    nextHops: [nextHop],
    asPath: [64524, 64513],
    ...change,
  };
}

const found = (routers: readonly NeighborRouter[], ...paths: ReceivedPath[]) =>
  findHijacks(blocks, routers, paths, (address) => /[.:]21$/.test(address)).map(
    ({ prefix, peer, nextHop, ownNextHop }) => `${prefix} ${peer} ${nextHop} not ${ownNextHop}`,
  );
const single = [router('tor1')];
const pair = [router('tor1'), router('tor2')];

describe('a hijack', () => {
  test.each([
    ['the block by another node of the same AS', path(own4, '10.4.94.21')],
    ['the block in IPv6', path(own6, 'fd04:94::21')],
    ['a piece of it', path('10.5.113.128/25', '10.4.94.21')],
    ['one address of it', path('10.5.113.7/32', '10.4.94.21')],
    ['a piece in IPv6', path('fd00:5:113::7/128', 'fd04:94::21')],
    ['the block from another AS', path(own4, '10.4.94.1', { asPath: [64524, 3320, 666] })],
    ['a static route of the router', path(own4, '10.4.94.1', { asPath: [64524] })],
    ['the same over iBGP', path(own4, '10.4.94.1', { asPath: [] })],
    ['by a reflector', path(own4, '10.4.94.21', { asPath: [], originatorId: '10.4.94.21' })],
  ])('%s', (_, one) => {
    const own = one.prefix.family === 'ipv4' ? '10.4.94.32' : 'fd04:94::32';
    expect(found(single, one)).toEqual([`${one.prefix} tor1 ${one.nextHops[0]} not ${own}`]);
  });

  test('says both next hops, or that the block is not announced', () => {
    const text = (routers: readonly NeighborRouter[], one: ReceivedPath) =>
      hijackText(findHijacks(blocks, routers, [one], () => true)[0]!);
    expect(text(single, path(own4, '10.4.94.21'))).toBe(
      'router tor1 reaches 10.5.113.0/24 by next hop 10.4.94.21; this node announces the block with next hop 10.4.94.32',
    );
    const silent = [router('tor1', { announced: new Map() })];
    expect(text(silent, path('10.5.113.7/32', '10.4.94.21'))).toBe(
      'router tor1 reaches 10.5.113.7/32, a piece of 10.5.113.0/24, by next hop 10.4.94.21; this node does not announce the block to it',
    );
  });
});

describe('no hijack', () => {
  test.each([
    ['a default route', path('0.0.0.0/0', '10.4.94.1')],
    ['a default route of IPv6', path('::/0', 'fd04:94::1')],
    ['an aggregate', path('10.5.112.0/21', '10.4.94.1')],
    ["another node's block", path('10.5.114.0/24', '10.4.94.21')],
    ['our own route, reflected', path(own4, '10.4.94.32', { asPath: [] })],
    ['our own route, spelled differently', path(own6, 'fd04:94:0::32')],
    ['our own route with a link-local next hop behind', path(own6, 'fd04:94::32')],
    [
      'our own route by a reflector that puts itself in',
      path(own4, '10.4.94.1', { asPath: [], originatorId: '10.4.94.32' }),
    ],
  ])('%s', (_, one) => {
    expect(found(single, one)).toEqual([]);
  });
});

describe('the block from a router that puts itself in as next hop', () => {
  test.each([
    ['may be our own, sent back', path(own4, '10.4.94.1')],
    ['over an IPv4 session', path(own6, '::ffff:10.4.94.1')],
    ['by an address that we do not know', path(own6, 'fd04:94::1')],
    ['by way of another router', path(own4, '10.4.94.2', { peer: 'tor2' })],
    ["with the nodes' AS replaced", path(own4, '10.4.94.1', { asPath: [64524, 64524] })],
  ])('%s', (_, one) => {
    expect(found(pair, one)).toEqual([]);
    // Whoever announces it to nobody cannot get it back.
    const silent = pair.map((router) => ({ ...router, announced: new Map<string, string>() }));
    expect(found(silent, one)).toHaveLength(1);
    const restarted = silent.map((router) => ({
      ...router,
      announcedBefore: new Set([own4, own6]),
    }));
    expect(found(restarted, one)).toEqual([]);
  });

  test('is a hijack if it is a piece of the block, or comes from elsewhere', () => {
    expect(found(pair, path('10.5.113.0/25', '10.4.94.1'))).toHaveLength(1);
    expect(found(pair, path(own4, '10.4.94.1', { asPath: [64524, 666] }))).toHaveLength(1);
  });
});
