import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareVersions, isOlder } from './resource-version.ts';

test('versions compare as 64-bit numbers', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      (a, b) => {
        const expected = a < b ? -1 : a > b ? 1 : 0;
        expect(Math.sign(compareVersions(String(a), String(b)))).toBe(expected);
      },
    ),
  );
});

test('what is no number counts as newer, so nothing is ever refused for it', () => {
  expect(isOlder('abc', '5')).toBe(false);
  expect(isOlder('5', 'abc')).toBe(false);
  expect(isOlder('', '5')).toBe(false);
});
