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
let notReady: string | undefined;
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
  notReady = undefined;
  examiner = new Examiner({ evidence, notReady: () => notReady, state, clock, log: silentLog });
});

afterEach(() => {
  examiner.stop();
  vi.useRealTimers();
});

/** Past the first seconds and the first rounds, in which the pace is another. */
function warmUp(): void {
  examiner.touch();
  vi.advanceTimersByTime(20_000);
  looks = 0;
}

const withoutRoutes = () => ({ ...seen, routers: [{ ...seen.routers[0]!, routes: [] }] });

test('news in one breath are one judgement, and what two of them find in a row is a finding', () => {
  warmUp();
  seen = withoutRoutes();
  for (let news = 0; news < 5; news++) examiner.touch();
  vi.advanceTimersByTime(600);
  expect([looks, state.all('finding')]).toEqual([1, []]);
  vi.advanceTimersByTime(600);
  expect(looks).toBe(2);
  expect(state.all('finding').map(({ reason }) => reason)).toContain('Blackhole');
  const rows = state.all('truth').map(({ node, reasons }) => [node, reasons.includes('Blackhole')]);
  expect(rows).toEqual([
    ['a', true],
    ['b', true],
  ]);
});

test('nothing is concluded before all caches have synced', () => {
  notReady = 'blocks are not known yet';
  seen = withoutRoutes();
  examiner.touch();
  vi.advanceTimersByTime(30_000);
  expect([looks, state.all('finding')]).toEqual([0, []]);
  expect(state.get('judgement', '')).toEqual({ isSettled: false, why: notReady });
});

test('in the first seconds a missing route is no finding: sessions are being set up', () => {
  seen = withoutRoutes();
  examiner.touch();
  vi.advanceTimersByTime(5_000);
  expect(looks).toBeGreaterThan(2);
  expect(state.all('finding').filter(({ reason }) => reason === 'Blackhole')).toEqual([]);
  expect(state.get('judgement', '')?.isSettled).toBe(false);
  vi.advanceTimersByTime(10_000);
  expect(state.all('finding').map(({ reason }) => reason)).toContain('Blackhole');
  expect(state.get('judgement', '')?.isSettled).toBe(true);
});

test('without news there is none, but for a look every few minutes at what time alone brings', () => {
  warmUp();
  examiner.touch();
  vi.advanceTimersByTime(290_000);
  expect(looks).toBe(1);
  vi.advanceTimersByTime(600_000);
  expect(looks).toBe(3);
});

test('a judgement that took long is followed by a long pause, and then the news are heard', () => {
  warmUp();
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
