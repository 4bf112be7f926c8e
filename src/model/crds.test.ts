import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Address } from '../net/address.ts';
import { Prefix, parsePrefix } from '../net/prefix.ts';
import { crds, definitions } from './crds.ts';
import { group, version } from './keys.ts';
import { blockName, unnameable } from './node-block.ts';

describe('the custom resources', () => {
  test.each(Object.entries(definitions))('%s is what the client looks for', (kind, definition) => {
    expect(definition.resource).toMatchObject({ kind, group, version, namespaced: false });
  });

  test('are one version each, with a status of its own and an age', () => {
    for (const { spec, metadata } of crds) {
      expect(metadata.name).toBe(`${spec.names.plural}.${group}`);
      const [only, ...others] = spec.versions;
      expect(others).toEqual([]);
      expect(only).toMatchObject({ name: version, served: true, storage: true });
      expect(only?.subresources).toEqual({ status: {} });
      expect(only?.additionalPrinterColumns.at(-1)?.name).toBe('Age');
    }
  });

  test('have names of their own', () => {
    const names = crds.flatMap(({ spec: { names: all } }) => [
      all.plural,
      all.singular,
      ...all.shortNames,
    ]);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the name rule', () => {
  const anyPrefix = fc
    .tuple(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), fc.nat({ max: 128 }), fc.boolean())
    .map(([bits, length, isV4]) =>
      isV4
        ? Prefix.of(Address.fromBigInt('ipv4', bits >> 96n), Math.min(length, 32))
        : Prefix.of(Address.fromBigInt('ipv6', bits), length),
    );
  /** The rule of the CRD, in its own words. */
  const asInCel = (cidr: string) =>
    cidr.replaceAll('.', '-').replaceAll(':', '-').replace('/', '-');

  test('names what Kubernetes accepts, the same in CEL and in code, for every block but ::/16', () => {
    fc.assert(
      fc.property(anyPrefix, (prefix) => {
        expect(blockName(prefix)).toBe(asInCel(prefix.toString()));
        if (unnameable(prefix) !== undefined) return;
        expect(blockName(prefix)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
      }),
    );
  });

  /** The only CIDR a name can stand for, so two blocks never share a name. */
  const asCidr = (name: string) => {
    const [length, ...rest] = name.split('-').reverse();
    const groups = rest.reverse();
    return `${groups.join(name.includes('--') || groups.length > 4 ? ':' : '.')}/${length}`;
  };

  test('two blocks never share a name: the CIDR can be told from it', () => {
    fc.assert(
      fc.property(anyPrefix, (prefix) => {
        if (unnameable(prefix) !== undefined) return;
        expect(parsePrefix(asCidr(blockName(prefix)))?.toString()).toBe(prefix.toString());
      }),
    );
  });
});
