import { expect, test } from 'vitest';
import { LeasePace } from './lease-pace.ts';
import { defaultTimings } from './lease-timings.ts';

test('with quick answers the times are the configured ones', () => {
  const pace = new LeasePace(defaultTimings);
  for (let at = 0; at < 10; at++) pace.answered(50);
  expect(pace.durationSeconds()).toBe(5);
  expect(pace.trustedMs(5)).toBe(3_000);
  expect(pace.patienceMs(3_000)).toBe(1_500);
});

test('a candidate waits for an answer of five seconds', () => {
  expect(new LeasePace(defaultTimings).patienceMs(0)).toBe(6_000);
});

test.each([1_000, 2_000, 5_000, 10_000])(
  'with answers of %d ms a leader trusts itself for two of them and the pause between, others wait longer',
  (ms) => {
    const pace = new LeasePace(defaultTimings);
    pace.answered(ms);
    const seconds = pace.durationSeconds();
    expect(pace.trustedMs(seconds)).toBeGreaterThan(2 * ms + 1_000);
    expect(seconds * 1_000).toBeGreaterThan(pace.trustedMs(seconds));
    expect(pace.patienceMs(pace.trustedMs(seconds) - ms)).toBeGreaterThan(ms * 1.4);
  },
);

test('answers of 5 s: the Lease says 23 s', () => {
  const pace = new LeasePace(defaultTimings);
  pace.answered(5_000);
  expect(pace.durationSeconds()).toBe(23);
});

test('a minute of quick answers later the take-over is quick again', () => {
  const pace = new LeasePace(defaultTimings);
  pace.answered(5_000);
  for (let at = 0; at < 60; at++) pace.answered(20);
  expect(pace.durationSeconds()).toBe(5);
});

test('what timed out makes the next request patient, and the lease no longer', () => {
  const pace = new LeasePace(defaultTimings);
  const patience = [];
  for (let at = 0; at < 5; at++) {
    patience.push(pace.patienceMs(3_000));
    pace.timedOut();
  }
  expect(patience).toEqual([1_500, 3_000, 6_000, 12_000, 15_000]);
  expect(pace.durationSeconds()).toBe(5);
  pace.answered(20);
  expect(pace.patienceMs(3_000)).toBe(1_500);
});
