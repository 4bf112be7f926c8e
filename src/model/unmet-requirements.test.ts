import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatSelector, selects, unmetRequirements } from './label-selector.ts';

const expressions = [
  { key: 'rack', operator: 'In', values: ['83', '84'] },
  { key: 'role', operator: 'NotIn', values: ['db'] },
  { key: 'gpu', operator: 'Exists' },
  { key: 'old', operator: 'DoesNotExist' },
];

test('says what is wanted and what there is', () => {
  const selector = { matchLabels: { zone: 'a' }, matchExpressions: expressions };
  expect(unmetRequirements(selector, { rack: '94', role: 'db', old: 'yes' })).toEqual([
    'wants zone=a, has no zone',
    'wants rack in (83, 84), has rack=94',
    'wants role not in (db), has role=db',
    'wants any gpu, has no gpu',
    'wants no old, has old=yes',
  ]);
  expect(formatSelector(selector)).toBe('zone=a,rack in (83,84),role notin (db),gpu,!old');
  expect(unmetRequirements(undefined, {})).toEqual([]);
  expect(formatSelector(undefined)).toBe('');
});

test('nothing is unmet exactly when the selector selects', () => {
  const key = fc.constantFrom('rack', 'role', 'gpu', 'old', '__proto__', 'toString');
  const value = fc.constantFrom('', '83', '84', 'db');
  const labels = fc.dictionary(key, value);
  const selector = fc.record({
    matchLabels: fc.dictionary(key, value, { maxKeys: 2 }),
    matchExpressions: fc.subarray(expressions),
  });
  fc.assert(
    fc.property(selector, labels, (wanted, has) => {
      expect(unmetRequirements(wanted, has).length === 0).toBe(selects(wanted, has));
    }),
  );
});
