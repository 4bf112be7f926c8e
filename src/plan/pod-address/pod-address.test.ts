import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { type Address, parseAddress } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { PodAddressSpace } from './pod-address.ts';

const ip = (text: string): Address => parseAddress(text)!;

function space(blocks: string[], reserved: string[] = []): PodAddressSpace {
  const made = new PodAddressSpace();
  made.setBlocks(
    blocks.map((text) => ({
      prefix: parsePrefix(text.replace('!', ''))!,
      isDraining: text.startsWith('!'),
    })),
    reserved.map((text) => parsePrefix(text)!),
  );
  return made;
}

/** Choose and take, as the agent does; the refusal's reason where there is one. */
function give(from: PodAddressSpace, families: Family[] = ['ipv4'], nowMs = 0): string {
  const choice = from.choose({ families }, nowMs);
  if (choice.kind === 'refused') return choice.reason;
  for (const address of choice.addresses) {
    from.take(address);
    from.setCursor(address);
  }
  return choice.addresses.join(' ');
}

function giveAll(from: PodAddressSpace, families: Family[] = ['ipv4']): string[] {
  const given: string[] = [];
  for (let i = 0; i < 10_000; i++) {
    const next = give(from, families);
    if (!/\d/.test(next)) return given;
    given.push(next);
  }
  throw new Error('the blocks never fill up');
}

describe('what a block gives', () => {
  test('network, gateway and broadcast are never given', () => {
    expect(giveAll(space(['10.0.0.0/29']))).toEqual([
      '10.0.0.2',
      '10.0.0.3',
      '10.0.0.4',
      '10.0.0.5',
      '10.0.0.6',
    ]);
  });

  test('a block of two or one has no such roles', () => {
    expect(giveAll(space(['10.0.0.0/31', '10.0.0.9/32']))).toEqual([
      '10.0.0.0',
      '10.0.0.1',
      '10.0.0.9',
    ]);
  });

  test('an IPv6 block keeps its first, gateway and last too', () => {
    const given = giveAll(space(['fd00::/124']), ['ipv6']);
    expect(given).toHaveLength(13);
    expect([given[0], given.at(-1)]).toEqual(['fd00::2', 'fd00::e']);
  });

  test('reserved ranges are jumped over, also when they nest or reach out of the block', () => {
    const given = giveAll(space(['10.0.0.0/28'], ['10.0.0.0/30', '10.0.0.8/29', '10.0.0.9/32']));
    expect(given).toEqual(['10.0.0.4', '10.0.0.5', '10.0.0.6', '10.0.0.7']);
  });

  test('a huge IPv6 block costs what is taken, not what it holds', () => {
    const huge = space(['fd00::/48']);
    const far = ip('fd00:0:0:ffff:ffff:ffff:ffff:fff0');
    expect(huge.choose({ families: ['ipv6'], requested: [far] }, 0).kind).toBe('chosen');
    huge.take(far);
    huge.setCursor(far);
    expect(give(huge, ['ipv6'])).toBe('fd00::ffff:ffff:ffff:ffff:fff1');
    expect(huge.use(0)[0]).toMatchObject({ pods: 2 });
  });

  test('both families or none', () => {
    const both = space(['10.0.0.0/30', 'fd00::/64']);
    expect(give(both, ['ipv4', 'ipv6'])).toBe('10.0.0.2 fd00::2');
    expect(give(both, ['ipv6', 'ipv4'])).toBe('NoFreeAddress');
    expect(both.held.size).toBe(2);
    expect(give(space(['10.0.0.0/24']), ['ipv4', 'ipv6'])).toBe('FamilyNotServed');
  });

  test('a draining block keeps what it gave and gives nothing new', () => {
    const node = space(['10.0.0.0/30']);
    give(node);
    node.setBlocks([
      { prefix: parsePrefix('10.0.0.0/29')!, isDraining: true },
      { prefix: parsePrefix('10.0.1.0/30')!, isDraining: false },
    ]);
    expect(giveAll(node)).toEqual(['10.0.1.2']);
    expect(node.use(0).map(({ pods, free }) => [pods, free])).toEqual([
      [1, 0n],
      [1, 0n],
    ]);
  });

  test('an address of a block that was taken away stays known, and is not given if it returns', () => {
    const node = space(['10.0.0.0/29']);
    give(node);
    node.setBlocks([]);
    expect(give(node)).toBe('FamilyNotServed');
    node.setBlocks([{ prefix: parsePrefix('10.0.0.0/29')!, isDraining: false }]);
    expect(giveAll(node)).not.toContain('10.0.0.2');
  });
});

describe('a requested address', () => {
  const node = () => space(['10.0.0.0/29', '!10.0.1.0/29'], ['10.0.0.6/32']);
  test.each([
    ['10.0.0.5', 'chosen'],
    ['10.0.0.1', 'AddressNotForPods'],
    ['10.0.0.7', 'AddressNotForPods'],
    ['10.0.0.6', 'AddressNotForPods'],
    ['10.9.9.9', 'AddressOutsideBlocks'],
    ['10.0.1.3', 'BlockDraining'],
    ['10.0.0.2', 'AddressTaken'],
  ])('%s: %s', (text, want) => {
    const asked = node();
    give(asked);
    const choice = asked.choose({ families: ['ipv4'], requested: [ip(text)] }, 0);
    expect(choice.kind === 'refused' ? choice.reason : choice.kind).toBe(want);
  });
});

describe('rest', () => {
  test('a freed address rests even if nothing else is free, and says for how long', () => {
    const node = space(['10.0.0.0/30']);
    give(node);
    node.release(ip('10.0.0.2'), 1_000, 30_000);
    expect(node.choose({ families: ['ipv4'] }, 11_000)).toMatchObject({
      reason: 'NoFreeAddress',
      retryAfterMs: 20_000,
    });
    expect(node.use(11_000)[0]).toMatchObject({ pods: 0, resting: 1, free: 0n });
    expect(give(node, ['ipv4'], 31_000)).toBe('10.0.0.2');
  });
});

test('the fast choice is the slow one: every address once, in the order of the ring', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1 }),
      fc.integer({ min: 26, max: 31 }),
      fc.array(fc.nat(400), { maxLength: 40 }),
      fc.array(fc.nat(255), { maxLength: 3 }),
      (numbers, length, steps, reservedAt) => {
        const blocks = numbers.map((n) => parsePrefix(`10.0.${n}.0/${length}`)!);
        const reserved = reservedAt.map((n) => `10.0.${n % 4}.${n & 0xfc}/30`);
        const node = space(blocks.map(String), reserved);
        const ring = blocks.flatMap((block) => {
          const size = 2 ** (32 - length);
          return Array.from({ length: size }, (_, i) => block.first().plus(i)).filter(
            (address, i) =>
              (size <= 2 || (i >= 2 && i < size - 1)) &&
              !reserved.some((range) => parsePrefix(range)!.contains(address)),
          );
        });
        const held: string[] = [];
        let last = -1;
        for (const step of steps) {
          if (step % 3 === 0 && held.length > 0) {
            const [gone] = held.splice(step % held.length, 1);
            node.release(ip(gone!), 0, 0);
            continue;
          }
          const turned = [...ring.slice(last + 1), ...ring.slice(0, last + 1)];
          const want = turned.find((address) => !held.includes(address.toString()));
          expect(give(node)).toBe(want?.toString() ?? 'NoFreeAddress');
          if (want === undefined) continue;
          held.push(want.toString());
          last = ring.indexOf(want);
        }
        expect([...node.held.keys()].sort()).toEqual([...held].sort());
      },
    ),
    { numRuns: runs(200) },
  );
});
