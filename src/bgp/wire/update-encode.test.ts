import { describe, expect, test } from 'vitest';
import { defaultContext, encodeAnnounce, Nlri, type PathAttributes } from './message.ts';

describe('packing', () => {
  const path: PathAttributes = { origin: 'igp', asPath: [{ type: 'seq', asns: [64513] }] };
  const many = (count: number, make: (n: number) => Nlri) =>
    Array.from({ length: count }, (_, n) => make(n));

  test('100,000 /24 are 99 messages, none above 4,096 octets', () => {
    const prefixes = many(100_000, (n) => new Nlri(1, 24, (0x0a000000 + n * 256) | 0));
    const messages = encodeAnnounce(
      { prefixes, attributes: path, nextHops: ['10.0.0.1'] },
      defaultContext,
    );
    expect(messages).toHaveLength(99);
    expect(Math.max(...messages.map((bytes) => bytes.length))).toBeLessThanOrEqual(4096);
  });

  test('448 IPv6 /64 fit one message', () => {
    const group = (count: number) => ({
      prefixes: many(count, (n) => new Nlri(2, 64, 0xfd000000 | 0, n)),
      attributes: path,
      nextHops: ['fd00::1'],
    });
    expect(encodeAnnounce(group(448), defaultContext)).toHaveLength(1);
    expect(encodeAnnounce(group(449), defaultContext)).toHaveLength(2);
  });

  test('extended messages carry sixteen times as much', () => {
    const prefixes = many(16_000, (n) => new Nlri(1, 24, (0x0a000000 + n * 256) | 0));
    const context = { ...defaultContext, extendedMessage: true };
    expect(
      encodeAnnounce({ prefixes, attributes: path, nextHops: ['10.0.0.1'] }, context),
    ).toHaveLength(1);
  });

  test('attributes that leave no room for a prefix are refused', () => {
    const communities = Array.from({ length: 1015 }, (_, n) => n);
    const group = {
      prefixes: [new Nlri(1, 32, 1)],
      attributes: { ...path, communities },
      nextHops: ['10.0.0.1'],
    };
    expect(() => encodeAnnounce(group, defaultContext)).toThrow(RangeError);
  });
});
