import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { crd } from './crd.ts';
import { crds, definitions } from './crds.ts';

test.each(Object.values(definitions))(
  'a change of $resource.kind comes with a new revision',
  (definition) => {
    const spec = JSON.stringify(crd(definition).spec);
    const digest = createHash('sha256').update(spec).digest('hex').slice(0, 16);
    // Changed the definition? Count its revision up, and put the new digest beside it.
    expect(definition.digest).toBe(digest);
  },
);

type Json = Record<string, unknown>;

/** Revision 6 of all definitions, without descriptions. */
const stored: Json[] = JSON.parse(
  readFileSync(new URL('./testdata/crds-revision-6.json', import.meta.url), 'utf8'),
);

/**
 * Pools in ranges that are not for pods, such as 127.0.0.0/8, never served anybody. Those
 * that exist can still be written: the API server refuses only what is new or changed.
 */
const isNewRule = (item: unknown) =>
  /127\.0\.0\.0\/8|isGlobalUnicast/.test(String((item as Json | null)?.rule));

/** What a value demands: fields that came later, defaults, descriptions and columns left out. */
function demands(now: unknown, then: unknown, isProperties = false): unknown {
  if (Array.isArray(now)) {
    return now
      .filter((item) => !isNewRule(item))
      .map((item, at) => demands(item, (then as Json[])?.[at]));
  }
  if (typeof now !== 'object' || now === null) return now;
  const known = (then ?? {}) as Json;
  return Object.fromEntries(
    Object.entries(now)
      .filter(([name, value]) =>
        isProperties
          ? name in known
          : (typeof value !== 'string' || name !== 'description') &&
            name !== 'additionalPrinterColumns' &&
            name !== 'default',
      )
      .map(([name, value]) => [name, demands(value, known[name], name === 'properties')]),
  );
}

test('objects that revision 6 took are still taken: fields may be added and defaults change, and pools in loopback and the like are refused', () => {
  const now = JSON.parse(JSON.stringify(crds.map(({ spec }) => spec)));
  // Kinds that came later stand behind those that were there.
  expect(demands(now.slice(0, stored.length), stored)).toEqual(demands(stored, stored));
});
