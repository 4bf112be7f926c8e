import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { Address, parseAddress } from './address.ts';
import { familyBits } from './family.ts';
import { addressCount, Prefix, parsePrefix, prefixProblem, usableAddresses } from './prefix.ts';

const at = (text: string) => parsePrefix(text)!;
const anyAddress = fc
  .constantFrom('ipv4' as const, 'ipv6' as const)
  .chain((family) =>
    fc
      .bigInt({ min: 0n, max: (1n << BigInt(familyBits(family))) - 1n })
      .map((value) => Address.fromBigInt(family, value)),
  );
const anyPrefix = anyAddress.chain((address) =>
  fc.nat({ max: familyBits(address.family) }).map((length) => Prefix.of(address, length)),
);
/** A prefix and a shorter or longer one that is likely to overlap it. */
const twoPrefixes = fc.tuple(anyPrefix, anyPrefix, fc.boolean()).map(([a, b, related]) => {
  if (!related) return [a, b] as const;
  return [a, Prefix.of(a, Math.min(b.length, familyBits(a.family)))] as const;
});
const range = (p: Prefix) => [p.first().toBigInt(), p.last().toBigInt()] as const;

describe('reading a prefix', () => {
  it('agrees with ipaddr.js on the block an address lies in', () => {
    fc.assert(
      fc.property(anyAddress, fc.nat({ max: 128 }), (address, some) => {
        const length = some % (familyBits(address.family) + 1);
        const text = `${address}/${length}`;
        const block = at(text);
        const network =
          address.family === 'ipv4'
            ? ipaddr.IPv4.networkAddressFromCIDR(text)
            : ipaddr.IPv6.networkAddressFromCIDR(text);
        expect(block.first().equals(parseAddress(network.toString())!)).toBe(true);
        expect(block.length).toBe(length);
        expect(at(block.toString()).equals(block)).toBe(true);
      }),
      { numRuns: runs(5000) },
    );
  });

  it('clears host bits, because a real API server stores them', () => {
    expect(at('10.10.5.3/24').toString()).toBe('10.10.5.0/24');
    expect(at('2001:db8:85a3::8a2e:370:7334/50').toString()).toBe('2001:db8:85a3::/50');
    expect(at('255.255.255.255/0').toString()).toBe('0.0.0.0/0');
  });

  it.each([
    ['', '"" is not an IPv4 or IPv6 CIDR'],
    ['/8', '"/8" is not an IPv4 or IPv6 CIDR'],
    ['10.0.0/8', '"10.0.0/8" is not an IPv4 or IPv6 CIDR'],
    ['10.0.0.0/8/8', '"10.0.0.0/8/8" is not an IPv4 or IPv6 CIDR'],
    ['10.0.0.0', '"10.0.0.0" has no prefix length'],
    ['10.0.0.0/', '"10.0.0.0/" has no prefix length'],
    ['10.0.0.0/33', '"10.0.0.0/33" has a prefix length beyond 32'],
    ['2001:db8::/129', '"2001:db8::/129" has a prefix length beyond 128'],
    ['10.0.0.0/4294967304', '"10.0.0.0/4294967304" has a prefix length beyond 32'],
    ['10.0.0.0/08', '"10.0.0.0/08" has a prefix length that is not a plain decimal number'],
    ['10.0.0.0/+8', '"10.0.0.0/+8" has a prefix length that is not a plain decimal number'],
    ['10.0.0.0/8 ', '"10.0.0.0/8 " has a prefix length that is not a plain decimal number'],
    ['10.0.0.0/-1', '"10.0.0.0/-1" has a prefix length that is not a plain decimal number'],
  ])('refuses %j and says why', (text, problem) => {
    expect(parsePrefix(text)).toBeUndefined();
    expect(prefixProblem(text)).toBe(problem);
  });

  it('tells a person about host bits, with the block that was meant', () => {
    expect(prefixProblem('10.10.5.3/24')).toBe(
      '"10.10.5.3/24" has host bits set; the block is 10.10.5.0/24',
    );
    expect(prefixProblem('2001:db8::1/64')).toBe(
      '"2001:db8::1/64" has host bits set; the block is 2001:db8::/64',
    );
  });

  it('has nothing against a block, in whatever spelling', () => {
    for (const text of ['10.0.0.0/8', '0.0.0.0/0', '::/0', '2001:DB8::/32', '10.0.0.1/32']) {
      expect(prefixProblem(text)).toBeUndefined();
    }
  });

  it('reads a prefix whenever nothing but host bits is wrong with it', () => {
    const anyText = fc.string({ unit: fc.constantFrom(...'0123456789af:./'.split('')) });
    fc.assert(
      fc.property(fc.oneof(anyText, anyPrefix.map(String)), (text) => {
        const problem = prefixProblem(text);
        const reads = problem === undefined || problem.includes('has host bits set');
        expect(parsePrefix(text) !== undefined).toBe(reads);
      }),
      { numRuns: runs(5000) },
    );
  });
});

describe('prefixes among each other', () => {
  it('contain and overlap exactly as their ranges of addresses do', () => {
    fc.assert(
      fc.property(twoPrefixes, ([a, b]) => {
        const [a0, a1] = range(a);
        const [b0, b1] = range(b);
        const same = a.family === b.family;
        expect(a.contains(b)).toBe(same && a0 <= b0 && b1 <= a1);
        expect(a.overlaps(b)).toBe(same && a0 <= b1 && b0 <= a1);
        expect(b.overlaps(a)).toBe(a.overlaps(b));
        expect(a.contains(b.first())).toBe(same && a0 <= b0 && b0 <= a1);
        expect(a.equals(b)).toBe(a.toString() === b.toString());
      }),
      { numRuns: runs(5000) },
    );
  });

  it('sort by family, then address, then the larger first', () => {
    const sorted = [
      '9.0.0.0/8',
      '10.0.0.0/8',
      '10.0.0.0/16',
      '10.0.1.0/24',
      '200.0.0.0/8',
      '::/0',
      'fd00::/8',
    ];
    const mixed = [...sorted].reverse().map(at);
    expect(mixed.sort((a, b) => a.compare(b)).map(String)).toEqual(sorted);
  });

  it('divide into blocks that know their number', () => {
    fc.assert(
      fc.property(anyPrefix, fc.nat(), fc.bigInt({ min: 0n, max: 1n << 128n }), (p, more, any) => {
        const length = p.length + (more % (familyBits(p.family) - p.length + 1));
        const index = any % (1n << BigInt(length - p.length));
        const block = p.subPrefix(length, index);
        expect(block.length).toBe(length);
        expect(p.contains(block)).toBe(true);
        expect(p.indexOf(block)).toBe(index);
        expect(block.parent(p.length).equals(p)).toBe(true);
        const size = 1n << BigInt(familyBits(p.family) - length);
        expect(block.first().toBigInt()).toBe(p.first().toBigInt() + index * size);
        if (index <= BigInt(Number.MAX_SAFE_INTEGER)) {
          expect(p.subPrefix(length, Number(index)).equals(block)).toBe(true);
        }
      }),
      { numRuns: runs(5000) },
    );
  });

  it('have no block beyond the last, before the first, or larger than themselves', () => {
    for (const [length, index] of [
      [24, 256],
      [24, -1],
      [24, 1.5],
      [24, Number.NaN],
      [24, 2 ** 40],
      [15, 0],
      [33, 0],
    ] as const) {
      expect(() => at('10.0.0.0/16').subPrefix(length, index)).toThrow(RangeError);
    }
    expect(() => at('10.0.0.0/16').subPrefix(24, 256n)).toThrow(RangeError);
    expect(() => at('10.0.0.0/16').subPrefix(24, -1n)).toThrow(RangeError);
    expect(() => at('2001:db8::/48').subPrefix(64, 65536)).toThrow(RangeError);
    expect(() => at('10.0.0.0/16').parent(17)).toThrow(RangeError);
    expect(at('10.0.0.0/16').indexOf(at('10.1.0.0/24'))).toBe(-1n);
    expect(at('10.0.0.0/16').indexOf(at('10.0.0.0/15'))).toBe(-1n);
    expect(at('0.0.0.0/0').subPrefix(32, 0xffffffff).toString()).toBe('255.255.255.255/32');
    expect(at('0.0.0.0/0').subPrefix(0, 0).toString()).toBe('0.0.0.0/0');
  });

  it('are followed by the next of their size, up to the end of the family', () => {
    expect(at('10.0.255.0/24').next()?.toString()).toBe('10.1.0.0/24');
    expect(at('2001:db8:0:ffff::/64').next()?.toString()).toBe('2001:db8:1::/64');
    expect(at('255.255.255.0/24').next()).toBeUndefined();
    expect(at('::/0').next()).toBeUndefined();
    expect(at('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128').next()).toBeUndefined();
  });
});

describe('counting', () => {
  it('counts blocks up to what a number can hold exactly', () => {
    expect(at('10.0.0.0/8').countOf(24)).toBe(65536);
    expect(at('2001:db8::/32').countOf(64)).toBe(2 ** 32);
    expect(at('fd00::/8').countOf(100)).toBe(Number.MAX_SAFE_INTEGER);
    expect(at('10.0.0.0/24').countOf(23)).toBe(0);
    expect(at('10.0.0.0/24').countOf(33)).toBe(0);
  });

  it('counts addresses, and leaves out first and last unless the block has no such roles', () => {
    const neither = { allowFirst: false, allowLast: false };
    expect(addressCount(at('10.0.0.0/24'))).toBe(256n);
    expect(addressCount(at('::/0'))).toBe(1n << 128n);
    expect(usableAddresses(at('10.0.0.0/24'), neither)).toBe(254n);
    expect(usableAddresses(at('10.0.0.0/31'), neither)).toBe(2n);
    expect(usableAddresses(at('10.0.0.0/32'), neither)).toBe(1n);
    expect(usableAddresses(at('fd00::/127'), neither)).toBe(2n);
    expect(usableAddresses(at('fd00::/126'), { allowFirst: true, allowLast: true })).toBe(4n);
  });
});
