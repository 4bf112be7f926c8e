import { expect, test } from 'vitest';
import { ageText } from './age-text.ts';

const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;

test.each([
  [-5 * second, '0s'],
  [-1, '0s'],
  [0, '0s'],
  [119 * second, '119s'],
  [120 * second, '2m'],
  [150 * second, '2m30s'],
  [10 * 60 * second, '10m'],
  [179 * 60 * second, '179m'],
  [3 * hour, '3h'],
  [3.5 * hour, '3h30m'],
  [8.5 * hour, '8h'],
  [47 * hour, '47h'],
  [2 * day, '2d'],
  [2 * day + 3 * hour, '2d3h'],
  [8 * day, '8d'],
  [729 * day, '729d'],
  [730 * day, '2y'],
  [731 * day, '2y1d'],
  [3000 * day, '8y'],
])('%d ms is %s', (ms, text) => {
  expect(ageText(ms)).toBe(text);
});
