/**
 * However large a block is and however much is kept ready, a pod gets an address as long as the pool
 * has a free block.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { poolObject, registerOf } from '../../../test/register/objects.ts';
import { DemandingNode } from '../../../test/simulation/demanding-node.ts';
import type { Family } from '../../net/family.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { nextBlock } from '../blocks/assign.ts';
import type { Register } from '../blocks/register.ts';

/** Whether the pool has a free block of each of these families. */
const hasRoom = (register: Register, families: readonly Family[]) =>
  families.every((family) => nextBlock(register, register.poolSet.get('p')!, family) !== undefined);

/** A pool of few blocks of this size, so that its end is reached too. */
const poolOf = (sizes: { ipv4?: number; ipv6?: number }, blockBits: number) =>
  poolObject('p', {
    cidrs: [
      ...(sizes.ipv4 === undefined ? [] : [`10.0.0.0/${sizes.ipv4 - blockBits}`]),
      ...(sizes.ipv6 === undefined ? [] : [`fd00::/${sizes.ipv6 - blockBits}`]),
    ],
    ...(sizes.ipv4 === undefined ? {} : { size: sizes.ipv4 }),
    ...(sizes.ipv6 === undefined ? {} : { size6: sizes.ipv6 }),
  });

const sizes = fc
  .record({
    ipv4: fc.option(fc.integer({ min: 20, max: 32 }), { nil: undefined }),
    ipv6: fc.option(fc.oneof(fc.integer({ min: 116, max: 128 }), fc.constant(64)), {
      nil: undefined,
    }),
  })
  .filter(({ ipv4, ipv6 }) => ipv4 !== undefined || ipv6 !== undefined)
  .map(({ ipv4, ipv6 }) => ({
    ...(ipv4 === undefined ? {} : { ipv4 }),
    ...(ipv6 === undefined ? {} : { ipv6 }),
  }));

const preAllocate = fc.oneof(fc.nat(20), fc.constantFrom(0, 1, 8, 64, 253, 254, 1000));
/** So many full blocks and some pods more: around the ends of blocks is where counts differ. */
const podCount = (size: { ipv4?: number; ipv6?: number }) =>
  fc.tuple(fc.nat(10), fc.nat(30)).map(([blocks, more]) => {
    const bits = Math.min(32 - (size.ipv4 ?? 0), 128 - (size.ipv6 ?? 0));
    return Math.min(blocks * Math.max(1, 2 ** bits - 3) + more, 4_200);
  });
const stories = sizes.chain((size) =>
  fc.record({ size: fc.constant(size), waves: fc.array(podCount(size), { maxLength: 3 }) }),
);

test('all pods are served, or the pool has no block left for them', () => {
  fc.assert(
    fc.property(
      stories,
      fc.integer({ min: 0, max: 6 }),
      preAllocate,
      fc.boolean(),
      fc.array(fc.nat(63), { maxLength: 3 }),
      ({ size, waves }, blockBits, ready, isTainted, reservedAt) => {
        const register = registerOf([poolOf(size, blockBits)]);
        const families = Object.keys(size) as Family[];
        const reserved = reservedAt.flatMap((at) =>
          families.map(
            (family) =>
              parsePrefix(
                family === 'ipv4' ? `10.0.0.${at * 4}/30` : `fd00::${(at * 4).toString(16)}/126`,
              )!,
          ),
        );
        const nodes = ['a', 'b'].map((name) => new DemandingNode(register, name, ready, reserved));
        for (const [at, wave] of waves.entries()) {
          const node = nodes[at % 2]!;
          const served = node.runAll(wave, families, isTainted);
          if (served < wave) expect(hasRoom(register, families)).toBe(false);
          // Blocks that are given back must not be missed afterwards.
          node.end(Math.ceil(served / 2));
          node.settle();
        }
      },
    ),
    { numRuns: runs(150) },
  );
});

test('a pool of one node is served to its last address', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 24, max: 32 }),
      fc.integer({ min: 0, max: 4 }),
      preAllocate,
      (size, blockBits, ready) => {
        const register = registerOf([poolOf({ ipv4: size }, blockBits)]);
        const each = size >= 31 ? 2 ** (32 - size) : 2 ** (32 - size) - 3;
        const all = each * 2 ** blockBits;
        expect(new DemandingNode(register, 'n', ready).runAll(all + 1, ['ipv4'])).toBe(all);
      },
    ),
    { numRuns: runs(60) },
  );
});
