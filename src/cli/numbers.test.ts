import { expect, test } from 'vitest';
import { ageText, countText, plural, timeText } from './numbers.ts';

test.each([
  [0, '0s'],
  [59, '59s'],
  [60, '1m'],
  [90, '1m30s'],
  [3600, '1h'],
  [3605, '1h'],
  [3660, '1h1m'],
  [86_400, '1d'],
  [86_400 + 59 * 60, '1d'],
  [90_000, '1d1h'],
  [400 * 86_400 + 3600, '400d1h'],
  [-5, '0s'],
])('%d seconds ago is %s', (seconds, text) => {
  expect(ageText(1_000_000_000_000 - seconds * 1000, 1_000_000_000_000)).toBe(text);
});

test('a time that nobody wrote down has no age', () => {
  expect(ageText(0, 5)).toBe('-');
});

test('counts, nouns and times', () => {
  expect(countText(65536)).toBe('65536');
  expect(countText(Number.MAX_SAFE_INTEGER)).toBe('2^53 or more');
  expect([plural(1, 'node'), plural(0, 'node')]).toEqual(['1 node', '0 nodes']);
  expect(timeText(Date.parse('2026-01-31T12:00:00Z'))).toBe('2026-01-31T12:00:00Z');
});
