/** A register that lived through anything is the one that is made of what is left, in any order. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import {
  blockObject,
  ciliumNodeObject,
  nodeObject,
  poolObject,
  put,
  second,
} from '../../../test/register/objects.ts';
import type { KubeObject } from '../../model/object.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import { holdingSources } from './holdings.ts';
import { Register } from './register.ts';

const names = ['a', 'b'] as const;
/** Few addresses, so that much overlaps. */
const cidr = fc
  .tuple(fc.nat(7), fc.constantFrom(21, 22, 24, 26))
  .map(([at, length]) => `10.0.${length < 24 ? at & ~(2 ** (24 - length) - 1) : at}.0/${length}`);
const cidrs = fc.array(cidr, { minLength: 1, maxLength: 3 }).map((all) => {
  const apart = PrefixSet.of(all.map((one) => parsePrefix(one)!));
  return apart.prefixes.map(String);
});

const anyPool = fc
  .record({
    name: fc.constantFrom(...names),
    cidrs,
    size: fc.constantFrom(24, 26),
    most: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
    reserved: fc.array(cidr, { maxLength: 1 }),
    born: fc.nat(3),
  })
  .map(({ name, size, most, born, ...spec }) =>
    poolObject(
      name,
      {
        ...spec,
        cidrs: spec.cidrs.filter((one) => Number(one.split('/')[1]) <= size),
        size,
        ...(most === undefined ? {} : { maxBlocksPerNode: most }),
      },
      { uid: `uid-${name}-${born}`, creationTimestamp: second(born) },
    ),
  )
  .filter(({ spec }) => (spec as { cidrs: string[] }).cidrs.length > 0);
const name = fc.constantFrom(...names);
const anyNode = fc
  .tuple(name, fc.array(fc.nat(9), { maxLength: 2 }), fc.array(cidr, { maxLength: 2 }))
  .map(([of, addresses, podCIDRs]) =>
    nodeObject(of, { addresses: addresses.map((at) => `10.0.${at}.9`), podCIDRs }),
  );
const anyCilium = fc.tuple(name, cidrs).map(([of, all]) => ciliumNodeObject(of, all));
const crowd = name.map((of) =>
  ciliumNodeObject(
    of,
    Array.from({ length: 20 }, (_, at) => `10.0.${at >> 2}.${(at & 3) << 6}/26`),
  ),
);
const anyBlock = fc.tuple(name, cidr).map(([of, one]) => blockObject(one, of, { pool: 'a' }));
const anyObject = fc.oneof(anyPool, anyNode, anyCilium, crowd, anyBlock);
const step = fc.record({ object: anyObject, isGone: fc.boolean(), isAsked: fc.boolean() });

function shape(register: Register) {
  const list = (all: Iterable<{ prefix: unknown; owner: string }>) =>
    [...all].map(({ prefix, owner }) => `${prefix} ${owner}`).sort();
  return {
    unregistered: list(register.unregistered.entries()),
    refused: list(register.refused.entries()),
    refusedNodes: register.refusedNodes().sort(),
    nodes: names.map((one) => {
      const { registered, kept, refused } = register.claimsOf(one);
      return [
        registered.map(String).sort(),
        kept.map(({ prefix, kind, isInPool }) => `${prefix} ${kind} ${isInPool}`),
        refused.map(({ prefix, pool, because }) => `${prefix} ${pool.name} ${because}`),
      ];
    }),
    claims: list(register.claims.entries()),
    pools: names.map((one) => [
      register.poolSet.problem(one)?.detail,
      [...register.blocksOfPool(one)].map(({ prefix }) => `${prefix}`).sort(),
    ]),
  };
}

function remove(register: Register, { kind, metadata }: KubeObject): void {
  const of = metadata?.name ?? '';
  if (kind === 'IPPool') register.removePool(of);
  else if (kind === 'Node') register.removeNode(of);
  else if (kind === 'CiliumNode') register.removeCiliumNode(of);
  else register.removeBlock(of);
}

test('remembered equals rebuilt, whatever came, changed and went, and in whatever order', () => {
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 4, maxLength: 16 }),
      fc.boolean(),
      (steps, isReversed) => {
        const remembered = new Register(holdingSources);
        const left = new Map<string, KubeObject>();
        for (const { object, isGone, isAsked } of steps) {
          const key = `${object.kind} ${object.metadata?.name}`;
          if (isGone && left.has(key)) {
            remove(remembered, object);
            left.delete(key);
          } else {
            put(remembered, object);
            left.set(key, object);
          }
          if (isAsked) shape(remembered);
        }
        const rebuilt = new Register(holdingSources);
        const objects = [...left.values()];
        for (const object of isReversed ? objects.reverse() : objects) put(rebuilt, object);
        expect(shape(remembered)).toEqual(shape(rebuilt));
      },
    ),
    { numRuns: runs(1_000) },
  );
});
