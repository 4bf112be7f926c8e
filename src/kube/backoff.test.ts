import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Backoff, pause } from './backoff.ts';

test('pauses stay between base and cap, grow by at most three, and start over on reset', () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })), (draws) => {
      const random = () => draws.next().value as number;
      const backoff = new Backoff({ baseMs: 100, capMs: 5_000, random });
      let last = 100;
      for (let i = 0; i < 20; i += 1) {
        const ms = backoff.nextMs();
        expect(ms).toBeGreaterThanOrEqual(100);
        expect(ms).toBeLessThanOrEqual(Math.min(5_000, last * 3));
        last = ms;
      }
      backoff.reset();
      expect(backoff.nextMs()).toBeLessThanOrEqual(300);
    }),
  );
});

test('a pause ends early when it is called off, before or during', async () => {
  const stop = new AbortController();
  // Longer than a test may take.
  const during = pause(1_000_000, stop.signal);
  setImmediate(() => stop.abort());
  await during;
  await pause(1_000_000, stop.signal);
});
