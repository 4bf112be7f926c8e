import { describe, expect, test } from 'vitest';
import { messageType, writeHeader } from './header.ts';
import { decodeMessage, defaultContext, type SessionContext } from './message.ts';

/** Attributes in hex, good ones to build upon. */
const origin = '40010100';
const asPath = '40020602010000fde9';
const nextHop = '4003040a000002';
const good = origin + asPath + nextHop;
const route = '180a0570';

function update(attributes: string, nlri = route, withdrawn = ''): Uint8Array {
  const parts = [withdrawn, attributes].map((hex) => Buffer.from(hex, 'hex'));
  const sized = parts.flatMap((part) => [
    Buffer.from([part.length >>> 8, part.length & 0xff]),
    part,
  ]);
  const bytes = new Uint8Array(
    Buffer.concat([Buffer.alloc(19), ...sized, Buffer.from(nlri, 'hex')]),
  );
  writeHeader(bytes, messageType.update);
  return bytes;
}

/** What is wrong with an UPDATE, in one line: `action type code/subcode`. */
function verdict(bytes: Uint8Array, changes: Partial<SessionContext> = {}): string {
  const result = decodeMessage(bytes, { ...defaultContext, ...changes });
  const show = (e: {
    action: string;
    attribute?: number | undefined;
    code: number;
    subcode: number;
  }) => `${e.action} ${e.attribute ?? '-'} ${e.code}/${e.subcode}`;
  if (result.kind === 'error') return show(result.error);
  if (result.message.type !== 'update') throw new Error('no UPDATE');
  return result.message.errors.map(show).join(', ') || 'accept';
}

const ibgp = { ibgp: true };
const as2 = { as4: false };
const asPath2 = '4002040201fde9';

describe('RFC 7606: what an UPDATE error costs', () => {
  test.each<[what: string, attributes: string, verdict: string, session?: Partial<SessionContext>]>(
    [
      ['nothing wrong', good, 'accept'],
      ['ORIGIN of two octets', `4001020000${asPath}${nextHop}`, 'treat-as-withdraw 1 3/5'],
      ['ORIGIN 3', `40010103${asPath}${nextHop}`, 'treat-as-withdraw 1 3/6'],
      ['ORIGIN marked optional', `c0010100${asPath}${nextHop}`, 'treat-as-withdraw 1 3/4'],
      ['ORIGIN twice: the first counts', `${good}40010102`, 'attribute-discard 1 3/1'],
      [
        'AS_PATH with an unknown segment',
        `${origin}40020605010000fde9${nextHop}`,
        'treat-as-withdraw 2 3/11',
      ],
      [
        'AS_PATH with an empty segment',
        `${origin}4002020200${nextHop}`,
        'treat-as-withdraw 2 3/11',
      ],
      [
        'AS_PATH that runs past its end',
        `${origin}40020602020000fde9${nextHop}`,
        'treat-as-withdraw 2 3/11',
      ],
      ['AS_PATH with AS 0', `${origin}400206020100000000${nextHop}`, 'treat-as-withdraw 2 3/11'],
      [
        'a confederation segment from outside',
        `${origin}40020603010000fde9${nextHop}`,
        'treat-as-withdraw 2 3/11',
      ],
      [
        'a confederation segment from inside',
        `${origin}40020603010000fde9${nextHop}`,
        'accept',
        ibgp,
      ],
      ['NEXT_HOP of three octets', `${origin}${asPath}4003030a0000`, 'treat-as-withdraw 3 3/5'],
      ['NEXT_HOP 0.0.0.0', `${origin}${asPath}40030400000000`, 'treat-as-withdraw 3 3/8'],
      ['NEXT_HOP in 0.0.0.0/8', `${origin}${asPath}40030400000001`, 'treat-as-withdraw 3 3/8'],
      ['NEXT_HOP 1.0.0.0', `${origin}${asPath}40030401000000`, 'accept'],
      ['NEXT_HOP 126.255.255.255', `${origin}${asPath}4003047effffff`, 'accept'],
      ['NEXT_HOP in 127.0.0.0/8', `${origin}${asPath}4003047f000001`, 'treat-as-withdraw 3 3/8'],
      ['NEXT_HOP 128.0.0.0', `${origin}${asPath}40030480000000`, 'accept'],
      ['NEXT_HOP 223.255.255.255', `${origin}${asPath}400304dfffffff`, 'accept'],
      ['NEXT_HOP multicast', `${origin}${asPath}400304e0000001`, 'treat-as-withdraw 3 3/8'],
      ['NEXT_HOP in 240.0.0.0/4', `${origin}${asPath}400304f0000001`, 'treat-as-withdraw 3 3/8'],
      ['NEXT_HOP broadcast', `${origin}${asPath}400304ffffffff`, 'treat-as-withdraw 3 3/8'],
      ['MED of three octets', `${good}800403000000`, 'treat-as-withdraw 4 3/5'],
      ['LOCAL_PREF from outside', `${good}40050400000064`, 'attribute-discard 5 3/0'],
      ['LOCAL_PREF from inside', `${good}40050400000064`, 'accept', ibgp],
      ['LOCAL_PREF of three octets', `${good}400503000064`, 'treat-as-withdraw 5 3/5', ibgp],
      ['ATOMIC_AGGREGATE with a value', `${good}40060100`, 'attribute-discard 6 3/5'],
      ['AGGREGATOR of six octets', `${good}c00706fde90a000001`, 'attribute-discard 7 3/5'],
      ['AGGREGATOR with AS 0', `${good}c00708000000000a000001`, 'attribute-discard 7 3/9'],
      ['no communities at all', `${good}c00800`, 'treat-as-withdraw 8 3/9'],
      ['half a community', `${good}c0080600010001ffff`, 'treat-as-withdraw 8 3/9'],
      ['ORIGINATOR_ID from outside', `${good}8009040a000001`, 'attribute-discard 9 3/0'],
      ['ORIGINATOR_ID of three octets', `${good}8009030a0000`, 'treat-as-withdraw 9 3/5', ibgp],
      ['CLUSTER_LIST from outside', `${good}800a040a000001`, 'attribute-discard 10 3/0'],
      ['an empty CLUSTER_LIST', `${good}800a00`, 'treat-as-withdraw 10 3/5', ibgp],
      ['half an extended community', `${good}c0100400020048`, 'treat-as-withdraw 16 3/9'],
      ['half a large community', `${good}c020080000000100000002`, 'treat-as-withdraw 32 3/9'],
      ['AS4_PATH where it is not needed', `${good}c01106020100010001`, 'attribute-discard 17 3/0'],
      [
        'AS4_PATH broken',
        `${origin}${asPath2}${nextHop}c01106020200010001`,
        'attribute-discard 17 3/9',
        as2,
      ],
      [
        'AS4_AGGREGATOR of six octets',
        `${origin}${asPath2}${nextHop}c012060001000100aa`,
        'attribute-discard 18 3/5',
        as2,
      ],
      ['an unknown optional attribute', `${good}c0990100`, 'accept'],
      ['an unknown well-known attribute', `${good}40990100`, 'treat-as-withdraw 153 3/2'],
      ['an attribute header cut off', `${good}c0`, 'treat-as-withdraw - 3/1'],
      ['an attribute that runs past the end', `${good}c0080400`, 'treat-as-withdraw 8 3/1'],
      [
        'two things wrong',
        `40010103${asPath}${nextHop}40060100`,
        'treat-as-withdraw 1 3/6, attribute-discard 6 3/5',
      ],
      ['no ORIGIN and no NEXT_HOP', asPath, 'treat-as-withdraw 1 3/3, treat-as-withdraw 3 3/3'],
    ],
  )('%s', (_what, attributes, expected, session) => {
    expect(verdict(update(attributes), session)).toBe(expected);
  });

  const reach = '800e1a0002011020010db8000000000000000000000001002020010db8';
  const unreach = '800f0800020120fffe0102';

  test.each<[what: string, attributes: string, verdict: string]>([
    ['MP_REACH by itself needs no NEXT_HOP', `${reach}${origin}${asPath}`, 'accept'],
    [
      'MP_REACH marked transitive costs the routes',
      `c0${reach.slice(2)}${origin}${asPath}`,
      'treat-as-withdraw 14 3/4',
    ],
    ['MP_REACH twice', `${reach}${reach}${origin}${asPath}`, 'session-reset 14 3/1'],
    ['MP_UNREACH twice', `${unreach}${unreach}`, 'session-reset 15 3/1'],
    ['MP_REACH that runs past the end', `${origin}${asPath}800eff0002`, 'session-reset 14 3/1'],
    ['MP_REACH too short', `${origin}${asPath}800e0400020110`, 'session-reset 14 3/9'],
    [
      'MP_REACH with a next hop of 5 octets',
      `${origin}${asPath}800e0a000201050a0000000100`,
      'session-reset 14 3/9',
    ],
    [
      'MP_REACH with a prefix of 129 bits',
      `${origin}${asPath}800e0a000201040a0000010081`,
      'session-reset 14 3/10',
    ],
    ['MP_UNREACH too short', '800f020002', 'session-reset 15 3/9'],
    // RFC 4760 §3: without IPv4 NLRI nobody asks the NEXT_HOP attribute anything.
    ['MP_REACH beside NEXT_HOP 0.0.0.0', `${reach}${origin}${asPath}40030400000000`, 'accept'],
    ['MP_REACH beside NEXT_HOP 127.0.0.1', `${reach}${origin}${asPath}4003047f000001`, 'accept'],
    [
      'MP_REACH beside a NEXT_HOP of 16 octets',
      `${reach}${origin}${asPath}400310${'00'.repeat(16)}`,
      'accept',
    ],
    [
      'MP_REACH beside a NEXT_HOP marked optional',
      `${reach}${origin}${asPath}c00304${'00'.repeat(4)}`,
      'accept',
    ],
    ['MP_UNREACH beside NEXT_HOP 0.0.0.0', `${unreach}40030400000000`, 'accept'],
    [
      'MP_UNREACH with all of ORIGIN, AS_PATH, NEXT_HOP 0.0.0.0',
      `${unreach}${origin}${asPath}40030400000000`,
      'accept',
    ],
    ['NEXT_HOP 0.0.0.0 and no route at all', '40030400000000', 'accept'],
    [
      'a NEXT_HOP that runs past the end may have hidden the routes',
      `${origin}${asPath}4003ff00`,
      'session-reset 3 3/1',
    ],
  ])('%s', (_what, attributes, expected) => {
    expect(verdict(update(attributes, ''))).toBe(expected);
  });

  test('a NEXT_HOP that no IPv4 route uses still costs nothing where one is withdrawn', () => {
    expect(verdict(update('40030400000000', '', route))).toBe('accept');
  });

  test('IPv4 routes with a bad NEXT_HOP take the IPv6 routes of their UPDATE with them (§2)', () => {
    const both = update(`${reach}${origin}${asPath}4003047f000001`);
    expect(verdict(both)).toBe('treat-as-withdraw 3 3/8');
  });

  test('without routes to withdraw, an error that costs the routes costs the session (§5.2)', () => {
    expect(verdict(update(`40010103${asPath}${nextHop}`, ''))).toBe('session-reset 1 3/6');
    expect(verdict(update(`40010103`, '', route))).toBe('session-reset 1 3/6');
    expect(verdict(update('c0', '', route))).toBe('session-reset - 3/1');
    // One that only costs the attribute does not.
    expect(verdict(update('40060100', '', route))).toBe('attribute-discard 6 3/5');
  });

  test('a reset for an attribute carries that attribute as data (RFC 4271 §6.3)', () => {
    const result = decodeMessage(update(`40010103${asPath}${nextHop}`, ''), defaultContext);
    if (result.kind !== 'error') throw new Error('accepted');
    expect(Buffer.from(result.error.data).toString('hex')).toBe('40010103');
  });

  test('withdrawn routes are checked like announced ones (§3(i))', () => {
    expect(verdict(update('', '', '210a00000100'))).toBe('session-reset - 3/10');
  });
});

describe('AS numbers of two octets (RFC 6793)', () => {
  const path = (attributes: string) => {
    const result = decodeMessage(update(attributes), { ...defaultContext, as4: false });
    if (result.kind !== 'message' || result.message.type !== 'update') throw new Error('no UPDATE');
    return result.message.attributes;
  };
  const trans = '4002080203fde95ba05ba0';
  const as4Path = 'c0110a0202000f424000030d40';

  test('AS4_PATH takes the place of the tail of AS_PATH', () => {
    expect(path(origin + trans + nextHop + as4Path).asPath).toEqual([
      { type: 'seq', asns: [65001, 1_000_000, 200_000] },
    ]);
  });

  test('an AS4_PATH longer than AS_PATH is not its own', () => {
    const short = '40020402015ba0';
    expect(path(origin + short + nextHop + as4Path).asPath).toEqual([
      { type: 'seq', asns: [23456] },
    ]);
  });

  test('an AGGREGATOR that is not AS_TRANS makes both AS4 attributes void', () => {
    const aggregator = 'c00706fde90a000001';
    const as4Aggregator = 'c01208000f42400a000009';
    const read = path(origin + trans + nextHop + aggregator + as4Path + as4Aggregator);
    expect(read.asPath).toEqual([{ type: 'seq', asns: [65001, 23456, 23456] }]);
    expect(read.aggregator).toEqual({ asn: 65001, address: '10.0.0.1' });
  });

  test('an AGGREGATOR of AS_TRANS gives way to AS4_AGGREGATOR', () => {
    const read = path(
      `${origin}${trans}${nextHop}c007065ba00a000001${as4Path}c01208000f42400a000009`,
    );
    expect(read.aggregator).toEqual({ asn: 1_000_000, address: '10.0.0.9' });
    expect(read.asPath).toEqual([{ type: 'seq', asns: [65001, 1_000_000, 200_000] }]);
  });
});
