import { expect, test } from 'vitest';
import { GoneTimes } from './gone-times.ts';

const is = (wanted: string) => (item: string) => item === wanted;
const dayMs = 86_400_000;

test('the last time counts', () => {
  const times = new GoneTimes<string>();
  times.note('a', 1);
  times.note('b', 2);
  times.note('a', 3);
  expect([times.last(is('a')), times.last(is('b')), times.last(is('c'))]).toEqual([
    3,
    2,
    undefined,
  ]);
});

test('of what had to be forgotten nobody can say that it is gone for longer', () => {
  const times = new GoneTimes<string>(4);
  for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) times.note(key, at + 1);
  expect([times.last(is('a')), times.last(is('never seen'))]).toEqual([1, undefined]);
  times.note('e', 5);
  expect([times.last(is('e')), times.last(is('c'))]).toEqual([5, 3]);
  for (const forgotten of ['a', 'b', 'never seen']) expect(times.last(is(forgotten))).toBe(2);
});

test('it is remembered for a day, and not for ever', () => {
  const times = new GoneTimes<string>();
  times.note('a', 1);
  times.note('b', dayMs);
  times.note('c', 2 * dayMs);
  expect([times.last(is('a')), times.last(is('b'))]).toEqual([1, dayMs]);
  times.note('d', 4 * dayMs);
  expect(times.last(is('b'))).toBe(dayMs);
  expect(times.last(is('c'))).toBe(2 * dayMs);
});

test('a million at once are noted in no time to speak of, and only some are kept', () => {
  const times = new GoneTimes<string>(1_000);
  for (let at = 1; at <= 1_000_000; at++) times.note(`${at}`, at);
  expect(times.last(is('1000000'))).toBe(1_000_000);
  expect(times.last(is('1'))).toBeGreaterThan(998_999);
});
