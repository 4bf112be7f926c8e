import { describe, expect, test } from 'vitest';
import { parsePrefix } from '../../net/prefix.ts';
import {
  decodeMessage,
  defaultContext,
  encodeAnnounce,
  encodeEndOfRib,
  encodeWithdraw,
  ipv4Unicast,
  ipv6Unicast,
  Nlri,
  type PathAttributes,
  type SessionContext,
  type UpdateMessage,
} from '../wire/message.ts';
import { AdjRibIn } from './adj-rib-in.ts';

const path: PathAttributes = { origin: 'igp', asPath: [{ type: 'seq', asns: [64513] }] };
const prefix = (text: string, pathId = 0) => Nlri.parse(text, pathId)!;

function update(bytes: Uint8Array, session: SessionContext = defaultContext): UpdateMessage {
  const result = decodeMessage(bytes, session);
  if (result.kind !== 'message' || result.message.type !== 'update') throw new Error('no UPDATE');
  return result.message;
}

function announce(
  texts: readonly string[],
  nextHop = '10.4.94.32',
  attributes: PathAttributes = path,
): UpdateMessage {
  const prefixes = texts.map((text) => prefix(text));
  const [message] = encodeAnnounce({ prefixes, attributes, nextHops: [nextHop] }, defaultContext);
  return update(message!);
}

function withdraw(...texts: readonly string[]): UpdateMessage {
  return update(
    encodeWithdraw(
      texts.map((text) => prefix(text)),
      defaultContext,
    )[0]!,
  );
}

const held = (rib: AdjRibIn) =>
  rib
    .routes()
    .map((route) => `${route.prefix} via ${route.nextHops.join(',')}${route.stale ? ' stale' : ''}`)
    .sort();

describe('an Adj-RIB-In', () => {
  test('holds what was announced, with its next hop, until it is withdrawn', () => {
    const rib = new AdjRibIn();
    expect(rib.apply(announce(['10.5.112.0/24', '10.5.113.0/24']))).toEqual({
      announced: 2,
      withdrawn: 0,
    });
    rib.apply(announce(['fd00:1::/64'], 'fd00::1'));
    expect(held(rib)).toEqual([
      '10.5.112.0/24 via 10.4.94.32',
      '10.5.113.0/24 via 10.4.94.32',
      'fd00:1::/64 via fd00::1',
    ]);
    expect(rib.lookup(prefix('10.5.113.0/24'))?.attributes.asPath).toEqual(path.asPath);
    expect(rib.lookup(prefix('10.5.113.0/25'))).toBeUndefined();
    expect(rib.apply(withdraw('10.5.112.0/24', '10.9.0.0/24')).withdrawn).toBe(1);
    rib.apply(withdraw('fd00:1::/64'));
    expect(held(rib)).toEqual(['10.5.113.0/24 via 10.4.94.32']);
  });

  test('keeps equal attributes once and forgets them with their last route', () => {
    const rib = new AdjRibIn();
    rib.apply(announce(['10.0.0.0/24', '10.0.1.0/24']));
    rib.apply(announce(['10.0.2.0/24']));
    expect(rib.attributeSets).toBe(1);
    rib.apply(announce(['10.0.2.0/24'], '10.4.94.32', { ...path, med: 5 }));
    expect(rib.attributeSets).toBe(2);
    rib.apply(withdraw('10.0.0.0/24', '10.0.1.0/24'));
    expect(rib.attributeSets).toBe(1);
    rib.clear();
    expect([rib.size, rib.attributeSets]).toEqual([0, 0]);
  });

  test('takes a prefix both withdrawn and announced in one UPDATE as announced', () => {
    const hex =
      'ffffffffffffffffffffffffffffffff0033020004180a057000144001010040020602010000fde94003040a000002180a0570';
    const rib = new AdjRibIn();
    rib.apply(update(Buffer.from(hex, 'hex')));
    expect(held(rib)).toEqual(['10.5.112.0/24 via 10.0.0.2']);
  });

  test('removes what a faulty UPDATE announces instead of keeping the old route', () => {
    const rib = new AdjRibIn();
    rib.apply(announce(['10.5.112.0/24', '10.5.113.0/24']));
    const noOrigin =
      'ffffffffffffffffffffffffffffffff002b020000001040020602010000fde94003040a000002180a0570';
    expect(rib.apply(update(Buffer.from(noOrigin, 'hex')))).toEqual({ announced: 0, withdrawn: 1 });
    expect(held(rib)).toEqual(['10.5.113.0/24 via 10.4.94.32']);
  });

  /** ORIGIN, AS_PATH and this NEXT_HOP beside MP_REACH_NLRI of 2001:db8::/32. */
  const reachBeside = (nextHop: string) =>
    `800e1a0002011020010db8000000000000000000000001002020010db84001010040020602010000fde9400304${nextHop}`;
  const updateOf = (attributes: string, nlri = '') => {
    const size = (hex: string) => (hex.length / 2).toString(16).padStart(4, '0');
    const body = `0000${size(attributes)}${attributes}${nlri}`;
    return update(
      Buffer.from(`${'ff'.repeat(16)}${size(`${'00'.repeat(19)}${body}`)}02${body}`, 'hex'),
    );
  };

  test('takes IPv6 routes beside a NEXT_HOP of 0.0.0.0, which none of them uses', () => {
    const rib = new AdjRibIn();
    expect(rib.apply(updateOf(reachBeside('00000000')))).toEqual({ announced: 1, withdrawn: 0 });
    expect(held(rib)).toEqual(['2001:db8::/32 via 2001:db8::1']);
    const unreach = '800f080002012020010db840030400000000';
    expect(rib.apply(updateOf(unreach)).withdrawn).toBe(1);
    expect(held(rib)).toEqual([]);
  });

  test('an IPv4 route with a NEXT_HOP in 127.0.0.0/8 is withdrawn, not kept as it was', () => {
    const rib = new AdjRibIn();
    rib.apply(announce(['10.5.112.0/24']));
    rib.apply(updateOf(reachBeside('0a000002')));
    const loopback = updateOf(reachBeside('7f000001'), '180a0570');
    // RFC 7606 §2: all routes of the faulty UPDATE, the IPv6 one too.
    expect(rib.apply(loopback)).toEqual({ announced: 0, withdrawn: 2 });
    expect(held(rib)).toEqual([]);
  });

  test('keeps several paths to one prefix apart by their identifiers', () => {
    const session = { ...defaultContext, addPathIpv4: true };
    const rib = new AdjRibIn();
    for (const [id, hop] of [
      [1, '10.0.0.1'],
      [2, '10.0.0.2'],
    ] as const) {
      const group = { prefixes: [prefix('10.0.0.0/24', id)], attributes: path, nextHops: [hop] };
      rib.apply(update(encodeAnnounce(group, session)[0]!, session));
    }
    expect(rib.size).toBe(2);
    expect(rib.lookup(prefix('10.0.0.0/24', 2))?.nextHops).toEqual(['10.0.0.2']);
    rib.apply(update(encodeWithdraw([prefix('10.0.0.0/24', 1)], session)[0]!, session));
    expect(held(rib)).toEqual(['10.0.0.0/24 via 10.0.0.2']);
  });

  test('carries stale routes through a restart and drops at End-of-RIB what was not repeated', () => {
    const rib = new AdjRibIn();
    rib.apply(announce(['10.0.0.0/24', '10.0.1.0/24', '10.0.2.0/24']));
    rib.apply(announce(['fd00:1::/64'], 'fd00::1'));
    rib.markStale(ipv4Unicast);
    expect(rib.lookup(prefix('10.0.0.0/24'))?.stale).toBe(true);
    expect(rib.lookup(prefix('fd00:1::/64'))?.stale).toBe(false);
    rib.apply(announce(['10.0.1.0/24']));
    expect(rib.apply(update(encodeEndOfRib(ipv6Unicast))).withdrawn).toBe(0);
    expect(rib.apply(update(encodeEndOfRib(ipv4Unicast)))).toEqual({
      announced: 0,
      withdrawn: 2,
      endOfRib: ipv4Unicast,
    });
    expect(held(rib)).toEqual(['10.0.1.0/24 via 10.4.94.32', 'fd00:1::/64 via fd00::1']);
  });

  test('says of every route that leaves, whatever takes it away', () => {
    const gone: string[] = [];
    const rib = new AdjRibIn(undefined, (one) => gone.push(`${one}`));
    const taken = () => gone.splice(0).sort();
    rib.apply(announce(['10.0.0.0/24', '10.0.1.0/24', '10.0.2.0/24']));
    rib.apply(announce(['fd00:1::/64'], 'fd00::1'));
    rib.apply(announce(['10.0.0.0/24'], '10.4.94.99'));
    expect(taken()).toEqual([]);
    rib.apply(withdraw('10.0.0.0/24', '10.9.0.0/24'));
    expect(taken()).toEqual(['10.0.0.0/24']);
    rib.markStale(ipv4Unicast);
    rib.apply(announce(['10.0.1.0/24']));
    rib.apply(update(encodeEndOfRib(ipv4Unicast)));
    expect(taken()).toEqual(['10.0.2.0/24']);
    rib.clear();
    expect(taken()).toEqual(['10.0.1.0/24', 'fd00:1::/64']);
  });

  test('finds a route to a prefix or to a piece of it, as looking at each of them would', () => {
    const texts = ['10.0.0.0/24', '10.0.1.128/25', '10.0.2.0/23', '10.1.0.7/32', '0.0.0.0/0'];
    const rib = new AdjRibIn();
    rib.apply(announce(texts));
    rib.apply(announce(['fd00:1:2::/48', 'fd00:1:3::1/128'], 'fd00::1'));
    const all = [...texts, 'fd00:1:2::/48', 'fd00:1:3::1/128'].map((one) => parsePrefix(one)!);
    const asked = [
      ...['10.0.0.0/24', '10.0.0.0/25', '10.0.1.0/24', '10.0.1.0/25', '10.0.3.0/24', '10.0.2.0/22'],
      ...['10.1.0.0/24', '10.1.0.6/31', '10.1.0.8/29', '10.0.0.0/8', '0.0.0.0/0', '128.0.0.0/1'],
      ...['fd00:1:2::/48', 'fd00:1:2::/64', 'fd00:1::/32', 'fd00:1:3::/64', 'fd00:1:3::2/127'],
    ].map((one) => parsePrefix(one)!);
    for (const one of asked) {
      expect([`${one}`, rib.holds(one)]).toEqual([`${one}`, all.some((it) => one.contains(it))]);
    }
  });

  test('ignores families that were not agreed on', () => {
    const rib = new AdjRibIn([ipv4Unicast]);
    rib.apply(announce(['fd00:1::/64'], 'fd00::1'));
    expect(rib.size).toBe(0);
    expect(rib.sizeOf(ipv6Unicast)).toBe(0);
  });
});

test('the routes inside a network are it and its pieces, not what is around it', () => {
  const rib = new AdjRibIn();
  rib.apply(announce(['0.0.0.0/0', '10.5.112.0/21', '10.5.113.0/24', '10.5.113.7/32']));
  rib.apply(announce(['10.5.114.0/24']));
  rib.apply(
    announce(['::/0', 'fd00:5:113::/64', 'fd00:5:113::7/128', 'fd00:5:114::/64'], 'fd00::1'),
  );
  const inside = (...texts: string[]) =>
    rib
      .routesInside(texts.map((text) => parsePrefix(text)!))
      .map((route) => `${route.prefix} via ${route.nextHops}`)
      .sort();
  expect(inside('10.5.113.0/24')).toEqual([
    '10.5.113.0/24 via 10.4.94.32',
    '10.5.113.7/32 via 10.4.94.32',
  ]);
  expect(inside('fd00:5:113::/64', '10.5.115.0/24')).toEqual([
    'fd00:5:113::/64 via fd00::1',
    'fd00:5:113::7/128 via fd00::1',
  ]);
  expect(inside()).toEqual([]);
});
