import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { cleanWorlds } from '../../test/doctor/worlds.ts';
import { silentLog } from '../base/log.ts';
import type { Evidence } from '../plan/doctor/evidence.ts';
import { Examiner } from './examiner.ts';
import { ConsoleState } from './state.ts';

const clock = { monotonicMs: () => Date.now(), wallMs: () => Date.now() };
let seen: Evidence;
let looks = 0;
let tookMs = 0;
let state: ConsoleState;
let examiner: Examiner;

beforeEach(() => {
  vi.useFakeTimers();
  seen = cleanWorlds['ip-pool of Cadastre']();
  [looks, tookMs] = [0, 0];
  state = new ConsoleState({ epoch: 'e' });
  const evidence = () => {
    looks += 1;
    vi.setSystemTime(Date.now() + tookMs);
    return seen;
  };
  examiner = new Examiner({ evidence, state, clock, log: silentLog });
});

afterEach(() => {
  examiner.stop();
  vi.useRealTimers();
});

test('news in one breath are one judgement, and soon', () => {
  seen = { ...seen, routers: [{ ...seen.routers[0]!, routes: [] }] };
  for (let news = 0; news < 5; news++) examiner.touch();
  vi.advanceTimersByTime(1_000);
  expect(looks).toBe(1);
  expect(state.all('finding').length).toBeGreaterThan(0);
});

test('without news there is none, but for a look every few minutes at what time alone brings', () => {
  examiner.touch();
  vi.advanceTimersByTime(290_000);
  expect(looks).toBe(1);
  vi.advanceTimersByTime(600_000);
  expect(looks).toBe(3);
});

test('a judgement that took long is followed by a long rest, and then the news are heard', () => {
  tookMs = 1_000;
  examiner.touch();
  vi.advanceTimersByTime(1_000);
  expect(looks).toBe(1);
  examiner.touch();
  vi.advanceTimersByTime(50_000);
  expect(looks).toBe(1);
  vi.advanceTimersByTime(15_000);
  expect(looks).toBe(2);
});
