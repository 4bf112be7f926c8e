import { expect, test } from 'vitest';
import { Drain } from './drain.ts';

const nobody = { routers: 0, acknowledged: 0, prefixes: 0, elsewhere: 0 };
const counts = { prefixes: 3, elsewhere: 1 };

function begin(graceMs = 5_000) {
  let nowMs = 0;
  const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
  const drain = new Drain(clock, graceMs);
  return {
    drain,
    at: (ms: number, delivery = { routers: 2, acknowledged: 2, ...counts }, isAsked = true) => {
      nowMs = ms;
      const asked = isAsked ? 'the node is to be drained' : undefined;
      return drain.next({ asked, delivery: () => delivery });
    },
    with: (ms: number, more: { kept?: string[]; isToWait?: boolean }) => {
      nowMs = ms;
      const delivery = () => ({ routers: 2, acknowledged: 2, ...counts });
      return drain.next({ asked: 'the node is to be drained', delivery, ...more });
    },
    steps: () => drain.steps.map(({ step, detail }) => `${step} ${detail}`),
  };
}

test('nothing is withdrawn before every router has acknowledged, and had the grace', () => {
  const { at, steps, drain } = begin();
  expect(at(0, nobody, false)).toBe('announce');
  expect(drain.isUnderWay).toBe(false);
  expect(at(10)).toBe('graceful');
  expect(at(100, { routers: 2, acknowledged: 1, ...counts })).toBe('graceful');
  expect(steps().at(-1)).toMatch(/^GracefulShutdown/);
  expect(at(6_000, { routers: 2, acknowledged: 1, ...counts })).toBe('graceful');
  expect(at(7_000)).toBe('graceful');
  expect(steps().at(-1)).toBe('Acknowledged by 2 of 2 routers');
  expect(at(11_999)).toBe('graceful');
  expect(at(12_000)).toBe('withdraw');
  expect(at(12_100, { routers: 2, acknowledged: 1, ...counts })).toBe('withdraw');
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
  expect(at(11_000, half)).toBe('withdraw');
});

test('whoever changes his mind starts from the beginning the next time', () => {
  const { at, drain } = begin(0);
  at(0);
  at(1);
  at(2);
  expect(at(3, nobody, false)).toBe('announce');
  expect(drain.steps).toEqual([]);
  expect(at(4)).toBe('graceful');
});

test('who has left stays away over a restart, without a step back', () => {
  const first = begin(0);
  for (let ms = 0; ms < 5; ms++) first.at(ms);
  expect(first.steps().at(-1)).toMatch(/^Withdrawn/);
  const second = begin(0);
  second.drain.resume(first.drain.progress);
  expect(second.at(100, nobody)).toBe('withdraw');
  expect(second.steps()).toEqual(first.steps());
  expect(second.at(101, nobody, false)).toBe('announce');
});

test('who was killed before he left asks the routers again', () => {
  const first = begin(5_000);
  first.at(0);
  first.at(1);
  const second = begin(5_000);
  second.drain.resume(first.drain.progress);
  expect(second.at(100)).toBe('graceful');
  expect(second.steps()).toEqual(['Asked the node is to be drained']);
});

test('what nobody else announces is kept and said, and the rest is withdrawn', () => {
  const { with: at, steps, drain } = begin(0);
  const kept = ['10.6.0.3/32 stays announced: nobody else'];
  for (let ms = 0; ms < 3; ms++) at(ms, { kept });
  expect(drain.phase).toBe('withdraw');
  at(3, { kept });
  expect(steps().slice(-2)).toEqual([
    expect.stringMatching(/^Moved/),
    'Kept 10.6.0.3/32 stays announced: nobody else',
  ]);
  expect([drain.isUnderWay, drain.isWithdrawn]).toEqual([false, false]);
  at(4, {});
  // It is withdrawn only now; whether the routers have that is seen in the next round.
  expect([drain.isUnderWay, drain.isWithdrawn]).toEqual([true, false]);
  at(5, {});
  expect([drain.isUnderWay, drain.isWithdrawn]).toEqual([false, true]);
  at(6, { kept });
  expect(steps().filter((one) => /^(Kept|Withdrawn)/.test(one))).toEqual([`Kept ${kept[0]}`]);
});

test('with its grace over it still waits if it is told to', () => {
  const { with: at } = begin(0);
  for (let ms = 0; ms < 9; ms++) expect(at(ms, { isToWait: true })).toBe('graceful');
  expect(at(10, {})).toBe('withdraw');
});

test('one sign goes and another stays: the drain goes on, and says the other', () => {
  const { drain } = begin(0);
  const delivery = () => nobody;
  for (let round = 0; round < 5; round++) drain.next({ asked: 'annotation', delivery });
  expect(drain.isWithdrawn).toBe(true);
  drain.next({ asked: 'cordon', delivery });
  expect(drain.isWithdrawn).toBe(true);
  expect(drain.steps[0]).toMatchObject({ step: 'Asked', detail: 'cordon' });
});
