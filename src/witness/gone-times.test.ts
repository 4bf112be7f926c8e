import { expect, test } from 'vitest';
import { GoneTimes } from './gone-times.ts';

const is = (wanted: string) => (item: string) => item === wanted;

test('the last time counts', () => {
  const times = new GoneTimes<string>();
  times.note('a', 'a', 1);
  times.note('b', 'b', 2);
  times.note('a', 'a', 3);
  expect([times.last(is('a')), times.last(is('b')), times.last(is('c'))]).toEqual([
    3,
    2,
    undefined,
  ]);
});

test('of what had to be forgotten nobody can say that it is gone for longer', () => {
  const times = new GoneTimes<string>(2);
  for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) times.note(key, key, at + 1);
  expect(times.last(is('d'))).toBe(4);
  expect(times.last(is('a'))).toBe(2);
  expect(times.last(is('never seen'))).toBe(2);
});

test('a day later it is forgotten', () => {
  const times = new GoneTimes<string>();
  times.note('a', 'a', 1);
  times.note('b', 'b', 86_400_002);
  expect(times.last(is('never seen'))).toBe(1);
});
