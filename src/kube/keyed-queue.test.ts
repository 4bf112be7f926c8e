import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { Metrics } from '../base/metrics.ts';
import { ApiError } from './api-error.ts';
import { KeyedQueue, type KeyedQueueOptions } from './keyed-queue.ts';

/** Time stands still unless a test lets it pass; turns of the event loop are real. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await new Promise(setImmediate);
}

async function pass(ms: number): Promise<void> {
  for (let i = 0; i < ms; i += 1) {
    await vi.advanceTimersByTimeAsync(1);
    await turns(2);
  }
}

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
      await turns(4);
      done.push(`${key} ends`);
    },
    { concurrency: 4 },
  );
  queue.add('a');
  await turns(2);
  expect(done).toEqual(['a begins']);
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
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), waits: fc.nat(3) });
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
            return turns(2).then(() => void running.delete(key));
          },
          { concurrency },
        );
        for (const { key, waits } of steps) {
          added.set(key, (added.get(key) ?? 0) + 1);
          queue.add(key);
          await turns(waits);
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
  // Four times no more than the cap.
  await pass(160);
  expect(times).toHaveLength(5);
  for (let i = 1; i < times.length; i += 1) {
    expect(times[i]! - times[i - 1]!).toBeGreaterThanOrEqual(5);
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
  await turns(2);
  await pass(199);
  expect(times).toHaveLength(1);
  await pass(2);
  expect(times).toHaveLength(2);
});

test('later is later, the earliest of several times counts, and now comes before later', async () => {
  const done: string[] = [];
  const queue = queueOf((key) => void done.push(key));
  queue.addAfter('a', 500);
  queue.addAfter('a', 50);
  queue.addAfter('a', 300);
  queue.addAfter('b', 0);
  await queue.idle();
  expect(done).toEqual(['b']);
  await pass(49);
  expect(done).toEqual(['b']);
  await pass(1);
  expect(done).toEqual(['b', 'a']);
  await pass(500);
  expect(done).toEqual(['b', 'a']);
});

test('a time beyond what a timer can hold is not now', async () => {
  const done: string[] = [];
  const queue = queueOf((key) => void done.push(key));
  queue.addAfter('a', 2 ** 40);
  await pass(20);
  expect(done).toEqual([]);
  await queue.stop();
});

test('stopping drops what waits and waits for what runs', async () => {
  const done: string[] = [];
  const queue = queueOf(async (key) => {
    await turns(10);
    done.push(key);
  });
  queue.add('a');
  queue.add('b');
  queue.addAfter('c', 5);
  await turns(2);
  await queue.stop();
  expect(done).toEqual(['a']);
  queue.add('d');
  queue.addAfter('e', 1);
  await pass(30);
  expect(done).toEqual(['a']);
});

test('ten thousand keys of synchronous work cost few turns of the event loop', async () => {
  let done = 0;
  let counted = 0;
  const queue = queueOf(() => {
    done += 1;
  });
  const count = () => {
    counted += 1;
    if (done < 10_000) setImmediate(count);
  };
  setImmediate(count);
  for (let i = 0; i < 10_000; i += 1) queue.add(`node-${i}`);
  await queue.idle();
  expect(done).toBe(10_000);
  expect(counted).toBeLessThan(1_000);
});

test('a long row of synchronous work lets timers and requests through', async () => {
  let done = 0;
  // Each takes a millisecond.
  const queue = queueOf(() => {
    done += 1;
    vi.advanceTimersByTime(1);
  });
  for (let i = 0; i < 100; i += 1) queue.add(`node-${i}`);
  const seen: number[] = [];
  const look = () => {
    seen.push(done);
    if (done < 100) setImmediate(look);
  };
  setImmediate(look);
  await queue.idle();
  // Five in a row, and then the others.
  expect(seen.length).toBeGreaterThanOrEqual(19);
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
