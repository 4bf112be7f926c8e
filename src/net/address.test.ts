import { isIP } from 'node:net';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { Address, parseAddress } from './address.ts';
import { familyBits } from './family.ts';

const at = (text: string) => parseAddress(text)!;
const family = fc.constantFrom('ipv4' as const, 'ipv6' as const);
const number = family.chain((name) =>
  fc.tuple(fc.constant(name), fc.bigInt({ min: 0n, max: (1n << BigInt(familyBits(name))) - 1n })),
);
/** Many zero groups, which is where the short forms are. */
const sparseV6 = fc
  .array(fc.constantFrom(0, 0, 0, 1, 0xdb8, 0xffff), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n));

describe('reading an address', () => {
  it('agrees with the C library on what is an address at all', () => {
    const near = fc.string({ unit: fc.constantFrom(...'0123456789af:.'.split('')), maxLength: 42 });
    const pieces = fc
      .array(
        fc.constantFrom('0', '1', '255', '256', '01', 'db8', 'ffff', '12345', '.', ':', '::'),
        {
          maxLength: 20,
        },
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(near, pieces, fc.ipV4(), fc.ipV6(), fc.string()), (text) => {
        // Node lets a zone through, which names an interface of this machine and is no address.
        const version = text.includes('%') ? 0 : isIP(text);
        const expected = version === 0 ? undefined : version === 4 ? 'ipv4' : 'ipv6';
        expect(parseAddress(text)?.family).toBe(expected);
      }),
      { numRuns: runs(20_000) },
    );
  });

  it('reads the same number as ipaddr.js', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        // It takes ::1.2.3.4 for ::ffff:1.2.3.4; RFC 4291 §2.5.5.1 does not.
        fc.pre(!/^::\d+\./.test(text));
        const bytes = ipaddr.parse(text).toByteArray();
        const expected = bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
        expect(at(text).toBigInt()).toBe(expected);
      }),
      { numRuns: runs(5000) },
    );
  });

  it.each([
    ['', 'nothing'],
    ['10.0.0', 'three octets'],
    ['10.0.0.0.0', 'five octets'],
    ['10.0.0.256', 'an octet beyond 255'],
    ['010.0.0.1', 'a leading zero, which some read as octal'],
    [' 10.0.0.1', 'a space'],
    ['10.0.0.1\n', 'a line end'],
    ['0x0a.0.0.1', 'hexadecimal octets'],
    ['1.2.3.4::', 'a dotted quad in front'],
    ['fe80::1%eth0', 'a zone'],
    ['[::1]', 'brackets'],
    ['1::2::3', 'two gaps'],
    ['1:2:3:4:5:6:7:8::', 'a gap for nothing'],
    ['1:2:3:4:5:6:7', 'seven groups'],
    [':1:2:3:4:5:6:7', 'a single colon in front'],
    ['1:2:3:4:5:6:7:', 'a single colon behind'],
    ['12345::', 'five digits'],
    ['::ffff:10.0.0.1.2', 'a tail of five octets'],
    ['1:2:3:4:5:6:7:1.2.3.4', 'a tail without room'],
  ])('refuses %j: %s', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe('writing an address', () => {
  it.each([
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['::ffff:c000:0280', '::ffff:192.0.2.128'],
    ['::192.0.2.128', '::c000:280'],
  ])('writes %s as %s, as RFC 5952 wants it', (text, expected) => {
    expect(at(text).toString()).toBe(expected);
  });

  it('agrees with ipaddr.js, but for the dotted tail of mapped addresses', () => {
    fc.assert(
      fc.property(sparseV6, (value) => {
        const address = Address.fromBigInt('ipv6', value);
        const text = address.toString();
        if (value >> 32n === 0xffffn) expect(text).toMatch(/^::ffff:\d+\.\d+\.\d+\.\d+$/);
        else expect(text).toBe(ipaddr.IPv6.parse(text).toRFC5952String());
        expect(at(text).toBigInt()).toBe(value);
      }),
      { numRuns: runs(5000) },
    );
  });

  it('reads back what it wrote', () => {
    fc.assert(
      fc.property(number, ([name, value]) => {
        const address = Address.fromBigInt(name, value);
        expect(at(address.toString()).equals(address)).toBe(true);
        expect(address.toBigInt()).toBe(value);
      }),
    );
  });
});

describe('counting in addresses', () => {
  it('orders and adds as the numbers do', () => {
    fc.assert(
      fc.property(number, number, fc.integer(), ([name, a], [other, b], n) => {
        const address = Address.fromBigInt(name, a);
        if (name === other) {
          const sign = a < b ? -1 : a > b ? 1 : 0;
          expect(Math.sign(address.compare(Address.fromBigInt(other, b)))).toBe(sign);
        }
        const sum = a + BigInt(n);
        if (sum < 0n || sum >> BigInt(familyBits(name)) !== 0n) {
          expect(() => address.plus(n)).toThrow(RangeError);
        } else {
          expect(address.plus(n).toBigInt()).toBe(sum);
          expect(address.plus(BigInt(n)).equals(address.plus(n))).toBe(true);
        }
      }),
      { numRuns: runs(2000) },
    );
  });

  it('puts IPv4 before IPv6 and never takes one for the other', () => {
    expect(at('255.255.255.255').compare(at('::'))).toBeLessThan(0);
    expect(at('::').compare(at('0.0.0.0'))).toBeGreaterThan(0);
    expect(at('0.0.0.0').equals(at('::'))).toBe(false);
  });

  it('carries from word to word', () => {
    expect(at('2001:db8::ffff:ffff:ffff:ffff').plus(1).toString()).toBe('2001:db8:0:1::');
    expect(at('10.0.255.255').plus(1).toString()).toBe('10.1.0.0');
    expect(() => at('255.255.255.255').plus(1)).toThrow(RangeError);
  });
});
