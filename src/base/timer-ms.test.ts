import { expect, test } from 'vitest';
import { longestTimerMs, timerMs } from './timer-ms.ts';

test('no timer is longer than Node can hold', () => {
  expect([0, 5, longestTimerMs].map(timerMs)).toEqual([0, 5, longestTimerMs]);
  expect([longestTimerMs + 1, 99_999_999_000, Number.POSITIVE_INFINITY].map(timerMs)).toEqual([
    longestTimerMs,
    longestTimerMs,
    longestTimerMs,
  ]);
});
