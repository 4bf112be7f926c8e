import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { Metrics } from '../base/metrics.ts';
import { ApiError } from './api-error.ts';
import { KeyedQueue, type KeyedQueueOptions } from './keyed-queue.ts';

const rest = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function queueOf(
  work: KeyedQueueOptions['work'],
  more: Partial<KeyedQueueOptions> = {},
): KeyedQueue {
  return new KeyedQueue({ name: 'test', work, backoff: { baseMs: 5, capMs: 40 }, ...more });
}

test('first in, first out, and a key that waits is not added twice', async () => {
  const done: string[] = [];
  const queue = queueOf((key) => void done.push(key));
  for (const key of ['b', 'a', 'b', 'c', 'a']) queue.add(key);
  expect(queue.depth).toBe(3);
  await queue.idle();
  expect(done).toEqual(['b', 'a', 'c']);
});

test('a key added while it runs runs once more afterwards, however often it was added', async () => {
  const done: string[] = [];
  const queue = queueOf(
    async (key) => {
      done.push(`${key} begins`);
      await rest(10);
      done.push(`${key} ends`);
    },
    { concurrency: 4 },
  );
  queue.add('a');
  await rest(3);
  queue.add('a');
  queue.add('a');
  await queue.idle();
  expect(done).toEqual(['a begins', 'a ends', 'a begins', 'a ends']);
});

test('a key that adds itself goes on, and others get their turn', async () => {
  const done: string[] = [];
  const queue: KeyedQueue = queueOf((key) => {
    done.push(key);
    if (done.length < 6) queue.add(key);
  });
  queue.add('a');
  queue.add('b');
  await queue.idle();
  expect(done.slice(0, 4)).toEqual(['a', 'b', 'a', 'b']);
});

test('never more at once than allowed, never one key twice at once, everything done', async () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), ms: fc.nat(2) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 25 }),
      fc.integer({ min: 1, max: 4 }),
      async (steps, concurrency) => {
        const added = new Map<string, number>();
        const seen = new Map<string, number>();
        const running = new Set<string>();
        let most = 0;
        const queue = queueOf(
          (key) => {
            expect(running.has(key)).toBe(false);
            // What was added before the work began is what the work has seen.
            seen.set(key, added.get(key) ?? 0);
            if (key === 'a') return undefined;
            running.add(key);
            most = Math.max(most, running.size);
            return rest(1).then(() => void running.delete(key));
          },
          { concurrency },
        );
        for (const { key, ms } of steps) {
          added.set(key, (added.get(key) ?? 0) + 1);
          queue.add(key);
          if (ms > 0) await rest(ms - 1);
        }
        await queue.idle();
        expect(most).toBeLessThanOrEqual(concurrency);
        expect(seen).toEqual(added);
      },
    ),
    { numRuns: runs(60) },
  );
});

test('work that throws comes back after its own back-off, for ever; success forgets it', async () => {
  const times: number[] = [];
  let failures = 4;
  const queue = queueOf((key) => {
    if (key === 'good') return;
    times.push(performance.now());
    if (failures > 0) {
      failures -= 1;
      throw new Error('not yet');
    }
  });
  queue.add('bad');
  queue.add('good');
  await queue.idle();
  expect(times).toHaveLength(1);
  await rest(250);
  expect(times).toHaveLength(5);
  for (let i = 1; i < times.length; i += 1) {
    expect(times[i]! - times[i - 1]!).toBeGreaterThanOrEqual(4);
  }
});

test('a promise that rejects counts like a throw, and a Retry-After is honoured', async () => {
  const times: number[] = [];
  const queue = queueOf(async () => {
    times.push(performance.now());
    if (times.length > 1) return;
    throw new ApiError({ request: 'PUT /x', status: 429, retryAfterSeconds: 0.2 });
  });
  queue.add('a');
  await rest(400);
  expect(times).toHaveLength(2);
  expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(195);
});

test('later is later, the earliest of several times counts, and now comes before later', async () => {
  const done: string[] = [];
  const queue = queueOf((key) => void done.push(key));
  const startedMs = performance.now();
  queue.addAfter('a', 500);
  queue.addAfter('a', 50);
  queue.addAfter('a', 300);
  queue.addAfter('b', 0);
  await queue.idle();
  expect(done).toEqual(['b']);
  while (done.length < 2) await rest(2);
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(48);
  expect(performance.now() - startedMs).toBeLessThan(250);
  await rest(50);
  expect(done).toEqual(['b', 'a']);
});

test('a time beyond what a timer can hold is not now', async () => {
  const done: string[] = [];
  const queue = queueOf((key) => void done.push(key));
  queue.addAfter('a', 2 ** 40);
  await rest(20);
  expect(done).toEqual([]);
  await queue.stop();
});

test('stopping drops what waits and waits for what runs', async () => {
  const done: string[] = [];
  const queue = queueOf(async (key) => {
    await rest(20);
    done.push(key);
  });
  queue.add('a');
  queue.add('b');
  queue.addAfter('c', 5);
  await rest(5);
  await queue.stop();
  expect(done).toEqual(['a']);
  queue.add('d');
  queue.addAfter('e', 1);
  await rest(30);
  expect(done).toEqual(['a']);
});

test('ten thousand keys of synchronous work cost few turns of the event loop', async () => {
  let done = 0;
  let turns = 0;
  const queue = queueOf(() => {
    done += 1;
  });
  const count = () => {
    turns += 1;
    if (done < 10_000) setImmediate(count);
  };
  setImmediate(count);
  for (let i = 0; i < 10_000; i += 1) queue.add(`node-${i}`);
  await queue.idle();
  expect(done).toBe(10_000);
  expect(turns).toBeLessThan(1_000);
});

test('a long row of synchronous work lets timers and requests through', async () => {
  let ticks = 0;
  const queue = queueOf(() => {
    const untilMs = performance.now() + 0.05;
    while (performance.now() < untilMs) {
      // Work that takes its time.
    }
  });
  const ticker = setInterval(() => {
    ticks += 1;
  }, 1);
  for (let i = 0; i < 2_000; i += 1) queue.add(`node-${i}`);
  await queue.idle();
  clearInterval(ticker);
  expect(ticks).toBeGreaterThan(5);
});

test('nothing is remembered of keys that are done', async () => {
  const metrics = new Metrics();
  const queue = queueOf(() => {}, { metrics });
  for (let round = 0; round < 3; round += 1) {
    for (let i = 0; i < 2_000; i += 1) queue.add(`${round}-${i}`);
    await queue.idle();
  }
  expect(queue.depth).toBe(0);
  expect(queue.known).toBe(0);
  expect(metrics.text()).toContain('cadastre_queue_age_seconds_count{queue="test"} 6000');
});
