import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import type { Capability } from './capability.ts';
import {
  type AsPath,
  decodeMessage,
  defaultContext,
  encodeAnnounce,
  encodeEndOfRib,
  encodeKeepalive,
  encodeNotification,
  encodeOpen,
  encodeRouteRefresh,
  encodeWithdraw,
  Nlri,
  type PathAttributes,
  type SessionContext,
} from './message.ts';

const u8 = fc.integer({ min: 0, max: 255 });
const u16 = fc.integer({ min: 0, max: 0xffff });
const u32 = fc.integer({ min: 0, max: 0xffffffff });
const asn = fc.oneof(fc.integer({ min: 1, max: 0xffff }), fc.integer({ min: 1, max: 0xffffffff }));
const ipv4 = fc
  .integer({ min: 0x01000000, max: 0xdfffffff })
  .map((n) => `${n >>> 24}.${(n >>> 16) & 255}.${(n >>> 8) & 255}.${n & 255}`);
const raw = (max: number) => fc.uint8Array({ maxLength: max });
const family = { afi: u16, safi: u8 };

const session: fc.Arbitrary<SessionContext> = fc.record({
  as4: fc.boolean(),
  ibgp: fc.boolean(),
  extendedMessage: fc.boolean(),
  enhancedRouteRefresh: fc.boolean(),
  addPathIpv4: fc.boolean(),
  addPathIpv6: fc.boolean(),
});

const capability: fc.Arbitrary<Capability> = fc.oneof(
  fc.record({ name: fc.constant('multiprotocol' as const), ...family }),
  fc.record({ name: fc.constantFrom('route-refresh' as const, 'enhanced-route-refresh' as const) }),
  fc.record({ name: fc.constant('extended-message' as const) }),
  fc.record({ name: fc.constant('as4' as const), asn }),
  fc.record({ name: fc.constant('role' as const), role: u8 }),
  fc.record({
    name: fc.constant('graceful-restart' as const),
    restart: fc.boolean(),
    notification: fc.boolean(),
    timeSeconds: fc.integer({ min: 0, max: 4095 }),
    families: fc.array(fc.record({ ...family, forwarding: fc.boolean() }), { maxLength: 4 }),
  }),
  fc.record({
    name: fc.constant('add-path' as const),
    families: fc.array(fc.record({ ...family, mode: u8 }), { maxLength: 4 }),
  }),
  fc.record({
    name: fc.constant('extended-next-hop' as const),
    families: fc.array(fc.record({ ...family, nextHopAfi: u16 }), { maxLength: 4 }),
  }),
  fc.record({
    name: fc.constant('fqdn' as const),
    host: fc.string({ maxLength: 15 }),
    domain: fc.string({ maxLength: 15 }),
  }),
  fc.record({
    name: fc.constant('unknown' as const),
    code: fc.integer({ min: 200, max: 255 }),
    raw: raw(40),
  }),
);

function message(bytes: Uint8Array, context: SessionContext = defaultContext) {
  const result = decodeMessage(bytes, context);
  if (result.kind === 'error') throw new Error(result.error.detail);
  return result.message;
}

describe('what is encoded decodes to the same', () => {
  test('OPEN, in short and in extended parameters', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 0xffff }),
        fc.oneof(fc.constant(0), fc.integer({ min: 3, max: 0xffff })),
        ipv4,
        fc.array(capability, { maxLength: 30 }),
        (as, holdSeconds, routerId, capabilities) => {
          const open = { version: 4, asn: as, holdSeconds, routerId, capabilities };
          const { extendedParameters: _, ...decoded } = message(encodeOpen(open)) as {
            extendedParameters?: true;
          };
          expect(decoded).toEqual({ type: 'open', ...open });
        },
      ),
    );
  });

  test('NOTIFICATION, with any data and with words', () => {
    fc.assert(
      fc.property(u8, u8, raw(200), (code, subcode, data) => {
        const decoded = message(encodeNotification({ code, subcode, data }));
        expect(decoded).toMatchObject({ type: 'notification', code, subcode, data });
      }),
    );
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }), (words) => {
        const bytes = encodeNotification({ code: 6, subcode: 2, shutdownCommunication: words });
        expect(message(bytes)).toMatchObject({ shutdownCommunication: words });
      }),
    );
  });

  test('words of more than 255 octets are cut between characters', () => {
    const bytes = encodeNotification({
      code: 6,
      subcode: 4,
      shutdownCommunication: '語'.repeat(99),
    });
    expect(message(bytes)).toMatchObject({ shutdownCommunication: '語'.repeat(85) });
  });

  test('ROUTE-REFRESH, KEEPALIVE and End-of-RIB', () => {
    const refresh = { afi: 2, safi: 1, subtype: 2 };
    expect(message(encodeRouteRefresh(refresh))).toEqual({ type: 'route-refresh', ...refresh });
    expect(message(encodeKeepalive())).toEqual({ type: 'keepalive' });
    for (const endOfRib of [
      { afi: 1, safi: 1 },
      { afi: 2, safi: 1 },
      { afi: 25, safi: 70 },
    ]) {
      expect(message(encodeEndOfRib(endOfRib))).toMatchObject({ type: 'update', endOfRib });
    }
  });
});

const asPath: fc.Arbitrary<AsPath> = fc.array(
  fc.record({
    type: fc.constantFrom('seq' as const, 'set' as const),
    asns: fc.array(asn, { minLength: 1, maxLength: 6 }),
  }),
  { maxLength: 4 },
);

const attributes: fc.Arbitrary<PathAttributes> = fc.record(
  {
    origin: fc.constantFrom('igp' as const, 'egp' as const, 'incomplete' as const),
    asPath,
    med: u32,
    localPref: u32,
    atomicAggregate: fc.constant(true as const),
    aggregator: fc.record({ asn, address: ipv4 }),
    communities: fc.array(u32, { minLength: 1, maxLength: 8 }),
    originatorId: ipv4,
    clusterList: fc.array(ipv4, { minLength: 1, maxLength: 4 }),
    extendedCommunities: fc.array(
      fc.uint8Array({ minLength: 8, maxLength: 8 }).map((b) => Buffer.from(b).toString('hex')),
      { minLength: 1, maxLength: 4 },
    ),
    largeCommunities: fc.array(fc.record({ global: u32, local1: u32, local2: u32 }), {
      minLength: 1,
      maxLength: 80,
    }),
    other: fc.uniqueArray(
      fc.record({
        flags: fc.constantFrom(0x80, 0xc0, 0xe0),
        type: fc.integer({ min: 100, max: 255 }),
        value: raw(300),
      }),
      { minLength: 1, maxLength: 3, selector: (one) => one.type },
    ),
  },
  { requiredKeys: ['origin', 'asPath'] },
);

const prefixes4 = fc.array(
  fc
    .tuple(u32, fc.integer({ min: 0, max: 32 }), u32)
    .map(([w, l, id]) => new Nlri(1, l, w, 0, 0, 0, id)),
  { minLength: 1, maxLength: 60 },
);
const prefixes6 = fc.array(
  fc
    .tuple(u32, u32, u32, u32, fc.integer({ min: 0, max: 128 }), u32)
    .map(([a, b, c, d, l, id]) => new Nlri(2, l, a, b, c, d, id)),
  { minLength: 1, maxLength: 60 },
);

const withId = (list: readonly Nlri[], keep: boolean) =>
  list.map((nlri) => `${nlri}${keep ? `#${nlri.pathId}` : ''}`);

/** What is left of attributes after a session that does not carry all of them. */
function carried(from: PathAttributes, context: SessionContext): PathAttributes {
  const { localPref, originatorId, clusterList, other, ...rest } = from;
  return {
    ...rest,
    ...(other && { other: [...other].sort((a, b) => a.type - b.type) }),
    ...(context.ibgp && localPref !== undefined && { localPref }),
    ...(context.ibgp && originatorId !== undefined && { originatorId }),
    ...(context.ibgp && clusterList !== undefined && { clusterList }),
  };
}

/** Merging AS4_PATH may join or cut sequences; the ASes and their order may not change. */
function flat(path: AsPath | undefined): unknown {
  return path?.flatMap(({ type, asns }) => (type === 'seq' ? asns : [asns.join('|')]) as unknown[]);
}

for (const [name, prefixes, nextHops] of [
  ['IPv4', prefixes4, ['10.0.0.1']],
  ['IPv4 with an IPv6 next hop', prefixes4, ['fd00::1']],
  ['IPv6 with two next hops', prefixes6, ['fd00::1', 'fe80::1']],
] as const) {
  test(`UPDATE for ${name}: announced and withdrawn routes come back`, () => {
    fc.assert(
      fc.property(session, attributes, prefixes, (context, from, list) => {
        const keep = list[0]!.afi === 1 ? context.addPathIpv4 : context.addPathIpv6;
        const announced: string[] = [];
        for (const bytes of encodeAnnounce(
          { prefixes: list, attributes: from, nextHops },
          context,
        )) {
          const update = message(bytes, context);
          if (update.type !== 'update') throw new Error('no UPDATE');
          expect(update.errors).toEqual([]);
          const { nextHop, asPath: path, as4Path, as4Aggregator, ...rest } = update.attributes;
          const { asPath: sent, ...expected } = carried(from, context);
          expect(rest).toEqual(expected);
          expect(flat(path)).toEqual(flat(sent));
          const classic = nextHop !== undefined;
          expect(classic).toBe(name === 'IPv4');
          const reach = update.mpReach;
          if (classic) announced.push(...withId(update.nlri.toArray(), keep));
          else if (reach?.kind === 'unicast') {
            expect(reach.nextHops).toEqual(nextHops);
            announced.push(...withId(reach.nlri.toArray(), keep));
          }
        }
        expect(announced).toEqual(withId(list, keep));

        const withdrawn = encodeWithdraw(list, context).flatMap((bytes) => {
          const update = message(bytes, context);
          if (update.type !== 'update') throw new Error('no UPDATE');
          const unreach = update.mpUnreach;
          const run = unreach?.kind === 'unicast' ? unreach.withdrawn : update.withdrawn;
          return withId(run.toArray(), keep);
        });
        expect(withdrawn).toEqual(withId(list, keep));
      }),
      { numRuns: runs(200) },
    );
  });
}
