import { expect, test, vi } from 'vitest';
import { Wakeup } from './wakeup.ts';

test('a touch ends the wait, and one that came during the round does not let it begin', async () => {
  const { signal } = new AbortController();
  const wakeup = new Wakeup();
  const waiting = wakeup.wait(signal);
  wakeup.touch();
  await waiting;
  await wakeup.wait(signal);
  wakeup.clear();
  expect(wakeup.isTouched).toBe(false);
});

test('it ends with the time, or with the signal, untouched', async () => {
  vi.useFakeTimers();
  const stopping = new AbortController();
  const wakeup = new Wakeup();
  const timed = wakeup.wait(stopping.signal, 5_000);
  await vi.advanceTimersByTimeAsync(5_000);
  await timed;
  const waiting = wakeup.wait(stopping.signal);
  stopping.abort();
  await waiting;
  await wakeup.wait(stopping.signal);
  expect(wakeup.isTouched).toBe(false);
  vi.useRealTimers();
});
