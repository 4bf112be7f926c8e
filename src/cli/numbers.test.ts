import { expect, test } from 'vitest';
import { countText, timeText } from './numbers.ts';

test('counts and times', () => {
  expect(countText(65536)).toBe('65536');
  expect(countText(Number.MAX_SAFE_INTEGER)).toBe('2^53 or more');
  expect(timeText(Date.parse('2026-01-31T12:00:00Z'))).toBe('2026-01-31T12:00:00Z');
});
