import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { addressOctets } from '../../bgp/wire/address-text.ts';
import { u16, u32 } from '../../bgp/wire/octets.ts';
import { readRib } from './read-rib.ts';

/** RFC 6396 §2: time, type, subtype, length. */
const record = (subtype: number, body: readonly number[], type = 13) => [
  ...u32(1_646_163_841),
  ...u16(type),
  ...u16(subtype),
  ...u32(body.length),
  ...body,
];
const octets = (address: string) => [...addressOctets(address)!];

/** §4.3.1: two peers, one by IPv4 and one by IPv6, AS numbers of four octets. */
const peers = record(1, [
  ...octets('10.4.94.250'),
  ...u16(4),
  ...[...'view'].map((one) => one.charCodeAt(0)),
  ...u16(2),
  ...[2, ...octets('10.4.94.32'), ...octets('10.4.94.32'), ...u32(64513)],
  ...[3, ...octets('10.4.94.21'), ...octets('fd00:94::21'), ...u32(64513)],
]);

const attribute = (type: number, value: readonly number[]) => [0x40, type, value.length, ...value];
const asPath = (...numbers: number[]) => attribute(2, [2, numbers.length, ...numbers.flatMap(u32)]);
const entry = (peer: number, attributes: readonly number[], id: readonly number[] = []) => [
  ...u16(peer),
  ...u32(1_646_163_000),
  ...id,
  ...u16(attributes.length),
  ...attributes,
];
const prefix = (n: number, length: number, address: readonly number[], entries: number[][]) => [
  ...u32(n),
  length,
  ...address,
  ...u16(entries.length),
  ...entries.flat(),
];

const ipv4 = record(
  2,
  prefix(
    0,
    24,
    [10, 5, 112],
    [entry(0, [...asPath(64513, 65010), ...attribute(3, octets('10.4.94.32'))])],
  ),
);
const ipv6 = record(
  4,
  prefix(1, 64, octets('fd00:5:112::').slice(0, 8), [
    entry(1, [...asPath(64513), ...attribute(14, [16, ...octets('fd00:94::21')])]),
    // Some writers put the whole attribute.
    entry(0, [...asPath(64513), ...attribute(14, [0, 2, 1, 16, ...octets('fd00:94::32'), 0])]),
  ]),
);
const addPath = record(
  8,
  prefix(
    2,
    24,
    [10, 5, 120],
    [
      entry(0, attribute(3, octets('10.4.94.32')), u32(1)),
      entry(0, attribute(3, octets('10.4.94.21')), u32(2)),
    ],
  ),
);
const whole = Uint8Array.from([...peers, ...ipv4, ...ipv6, ...addPath]);

function listed(bytes: Uint8Array): string[] {
  const found = readRib(bytes);
  if (found.kind === 'refused') return [found.problem];
  expect(found.rib.format).toBe('MRT');
  return found.rib.routes.map(
    (one) => `${one.prefix} ${one.nextHop} from ${one.from} [${one.asPath}]`,
  );
}

const routes = [
  '10.5.112.0/24 10.4.94.32 from 10.4.94.32 [64513 65010]',
  'fd00:5:112::/64 fd00:94::21 from fd00:94::21 [64513]',
  'fd00:5:112::/64 fd00:94::32 from 10.4.94.32 [64513]',
  '10.5.120.0/24 10.4.94.32 from 10.4.94.32 []',
  '10.5.120.0/24 10.4.94.21 from 10.4.94.32 []',
];

describe('an MRT file', () => {
  test('gives the paths of every peer, of both families and with path identifiers', () => {
    expect(listed(whole)).toEqual(routes);
  });

  test('packed with gzip is the same', () => {
    expect(listed(gzipSync(whole))).toEqual(routes);
  });

  test('packed and cut is refused', () => {
    expect(listed(gzipSync(whole).subarray(0, 60))[0]).toContain('does not unpack');
  });

  test('cut inside a record is refused', () => {
    const ends = new Set<number>();
    let end = 0;
    for (const one of [peers, ipv4, ipv6, addPath]) {
      end += one.length;
      ends.add(end);
    }
    for (let at = 12; at < whole.length; at++) {
      if (ends.has(at)) continue;
      expect(listed(whole.subarray(0, at))[0]).toMatch(/cut short/);
    }
  });

  test('with a record missing in the middle is refused by its number', () => {
    expect(listed(Uint8Array.from([...peers, ...ipv4, ...addPath]))[0]).toContain(
      'records are missing',
    );
  });

  test('without its table of peers is refused', () => {
    expect(listed(Uint8Array.from(ipv4))[0]).toContain('before its table of peers');
  });

  test.each([
    [12, 'TABLE_DUMP, the older form'],
    [16, 'BGP4MP: messages, not a table'],
  ])('of type %i is refused by name', (type, name) => {
    expect(listed(Uint8Array.from(record(1, [1, 2, 3], type)))[0]).toContain(name);
  });

  test('entries that are no unicast routes are counted', () => {
    const found = readRib(Uint8Array.from([...peers, ...record(6, [0, 0]), ...ipv4]));
    expect(found.kind === 'rib' && found.rib.skipped).toBe(1);
  });

  test('a damaged attribute is refused, and nothing is made up', () => {
    const damaged = Uint8Array.from(whole);
    damaged[peers.length + 12 + 8 + 8 + 2 + 2] = 250;
    expect(listed(damaged)[0]).toContain('is damaged');
  });
});
