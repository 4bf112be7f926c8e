import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { block } from '../../test/register/objects.ts';
import { RestCounter, writeEverySeconds } from './rest-counter.ts';

const cooling = (restedSeconds?: number, coolingSince = 0) =>
  block('10.0.0.0/24', 'n', {
    phase: 'Cooling',
    coolingSince,
    ...(restedSeconds === undefined ? {} : { restedSeconds }),
  });

test('counts on from what was written, and not twice what it wrote itself', () => {
  let nowMs = 5_000;
  const term = {};
  const rest = new RestCounter({ clock: { monotonicMs: () => nowMs }, term: () => term });
  expect(rest.seconds(cooling(100))).toBe(100);
  nowMs += 60_000;
  expect(rest.seconds(cooling(100))).toBe(160);
  expect(rest.seconds(cooling(160))).toBe(160);
  nowMs += 1_000;
  expect(rest.seconds(cooling(160))).toBe(161);
});

test('begins anew with another term, another cool-down, or after the block was in use', () => {
  let nowMs = 0;
  let term = {};
  const rest = new RestCounter({ clock: { monotonicMs: () => nowMs }, term: () => term });
  rest.seconds(cooling());
  nowMs = 50_000;
  term = {};
  expect(rest.seconds(cooling())).toBe(0);
  nowMs = 90_000;
  expect(rest.seconds(cooling(undefined, 77))).toBe(0);
  nowMs = 99_000;
  expect(rest.seconds(cooling(undefined, 77))).toBe(9);
  rest.forget('10-0-0-0-24');
  expect(rest.seconds(cooling(undefined, 77))).toBe(0);
});

/** Leaders come and go, with clocks of their own; each writes now and then. */
test('whoever leads, the sum is never more than the time that passed', () => {
  const watch = fc.record({ seconds: fc.nat(500), writes: fc.boolean(), next: fc.boolean() });
  fc.assert(
    fc.property(fc.array(watch, { maxLength: 30 }), fc.nat(1e9), (watches, offset) => {
      let passed = 0;
      let written: number | undefined;
      const leader = (bootMs: number) => {
        const term = {};
        const clock = { monotonicMs: () => bootMs + passed * 1000 };
        return new RestCounter({ clock, term: () => term });
      };
      let rest = leader(offset);
      for (const { seconds, writes, next } of watches) {
        rest.seconds(cooling(written));
        passed += seconds;
        const sum = rest.seconds(cooling(written));
        expect(sum).toBeLessThanOrEqual(passed + 1e-6);
        if (writes) written = Math.floor(sum);
        if (next) rest = leader(offset / (passed + 1));
      }
    }),
    { numRuns: runs(300) },
  );
});

test('is written a few times in a cool-down, and seldom in a week', () => {
  expect([1, 10, 300, 3_600, 604_800].map(writeEverySeconds)).toEqual([1, 2, 60, 60, 3_024]);
});
