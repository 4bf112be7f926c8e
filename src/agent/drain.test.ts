import { expect, test } from 'vitest';
import { Drain, nothingDelivered } from './drain.ts';

const nobody = nothingDelivered;
const counts = { prefixes: 3, elsewhere: 1 };

function begin(graceMs = 5_000) {
  let nowMs = 0;
  const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
  const drain = new Drain(clock, graceMs);
  return {
    drain,
    at: (ms: number, delivery = { routers: 2, acknowledged: 2, ...counts }, isAsked = true) => {
      nowMs = ms;
      return drain.next(isAsked, delivery);
    },
    steps: () => drain.steps.map(({ step, detail }) => `${step} ${detail}`),
  };
}

test('nothing is withdrawn before every router has acknowledged, and had the grace', () => {
  const { at, steps, drain } = begin();
  expect(at(0, nobody, false)).toEqual({ isGraceful: false, isLeaving: false });
  expect(drain.isUnderWay).toBe(false);
  expect(at(10)).toEqual({ isGraceful: true, isLeaving: false });
  expect(at(100, { routers: 2, acknowledged: 1, ...counts })).toEqual({
    isGraceful: true,
    isLeaving: false,
  });
  expect(steps().at(-1)).toMatch(/^GracefulShutdown/);
  expect(at(6_000, { routers: 2, acknowledged: 1, ...counts }).isLeaving).toBe(false);
  expect(at(7_000).isLeaving).toBe(false);
  expect(steps().at(-1)).toBe('Acknowledged by 2 of 2 routers');
  expect(at(11_999).isLeaving).toBe(false);
  expect(at(12_000)).toEqual({ isGraceful: true, isLeaving: true });
  expect(at(12_100, { routers: 2, acknowledged: 1, ...counts }).isLeaving).toBe(true);
  expect(drain.isUnderWay).toBe(true);
  at(12_200);
  expect(drain.isUnderWay).toBe(false);
  expect(drain.steps.map(({ step }) => step)).toEqual([
    'Asked',
    'GracefulShutdown',
    'Acknowledged',
    'Moved',
    'Withdrawn',
  ]);
  expect(steps()).toContain('Moved the routers use another path to 1 of 3 prefixes');
});

test.each([
  [{ prefixes: 2, elsewhere: 2 }, 'Moved the routers use another path to all 2 prefixes'],
  [
    { prefixes: 2, elsewhere: 0 },
    'Moved no router advertises another path to the prefixes of this node',
  ],
  [{ prefixes: 0, elsewhere: 0 }, 'Moved nothing was advertised to any router'],
])('what the routers do, in their own word: %j', (seen, words) => {
  const { at, steps } = begin(0);
  for (let ms = 0; ms < 3; ms++) at(ms, { routers: 1, acknowledged: 1, ...seen });
  expect(steps()).toContain(words);
});

test('a router that never acknowledges is not waited for, and that is said', () => {
  const { at, steps } = begin(1_000);
  const half = { routers: 2, acknowledged: 1, ...counts };
  at(0, half);
  at(100, half);
  at(10_000, half);
  expect(steps().at(-1)).toBe('Acknowledged by 1 of 2 routers');
  expect(at(11_000, half).isLeaving).toBe(true);
});

test('whoever changes his mind starts from the beginning the next time', () => {
  const { at, drain } = begin(0);
  at(0);
  at(1);
  at(2);
  expect(at(3, nobody, false)).toEqual({ isGraceful: false, isLeaving: false });
  expect(drain.steps).toEqual([]);
  expect(at(4)).toEqual({ isGraceful: true, isLeaving: false });
});

test('who has left stays away over a restart, without a step back', () => {
  const first = begin(0);
  for (let ms = 0; ms < 5; ms++) first.at(ms);
  expect(first.steps().at(-1)).toMatch(/^Withdrawn/);
  const second = begin(0);
  second.drain.resume(first.drain.memory);
  expect(second.at(100, nobody)).toEqual({ isGraceful: true, isLeaving: true });
  expect(second.steps()).toEqual(first.steps());
  expect(second.at(101, nobody, false).isLeaving).toBe(false);
});

test('who was killed before he left asks the routers again', () => {
  const first = begin(5_000);
  first.at(0);
  first.at(1);
  const second = begin(5_000);
  second.drain.resume(first.drain.memory);
  expect(second.at(100)).toEqual({ isGraceful: true, isLeaving: false });
  expect(second.steps()).toEqual(['Asked the node is to be drained']);
});
