import { expect, test } from 'vitest';
import { listNames, plural } from './count-text.ts';

test('a noun goes with its count', () => {
  expect([0, 1, 2].map((count) => plural(count, 'node'))).toEqual(['0 nodes', '1 node', '2 nodes']);
  expect(plural(1, 'address', 'addresses')).toBe('1 address');
  expect(plural(3, 'address', 'addresses')).toBe('3 addresses');
});

test('a long list of names is cut, and says how much', () => {
  expect(listNames(['a', 'b'])).toBe('a, b');
  expect(listNames(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more');
});
