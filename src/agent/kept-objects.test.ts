import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FollowedCache } from '../cluster/followed-cache.ts';
import type { Kept } from '../kube/object-cache.ts';
import { KeptObjects } from './kept-objects.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const peer = (name: string): Kept => ({ name, uid: `uid of ${name}`, resourceVersion: '1' });

function begin(...names: string[]) {
  const there = new Map(names.map((name) => [name, peer(name)]));
  const cache = { values: () => there.values(), refusal: undefined as string | undefined };
  let changes = 0;
  const kept = new KeptObjects<Kept>({
    clock: { monotonicMs: () => Date.now(), wallMs: () => Date.now() },
    graceMs: 5_000,
    onChange: () => {
      changes += 1;
    },
  });
  kept.follow(cache as unknown as FollowedCache<Kept>);
  return {
    cache,
    changes: () => changes,
    names: () => [...kept.values()].map(({ name }) => name).join(),
    put: (name: string) => {
      there.set(name, peer(name));
      kept.handler.onPut(peer(name), undefined);
    },
    remove: (name: string) => {
      there.delete(name);
      kept.handler.onDelete(peer(name), 'observed');
    },
  };
}

test('an object that is deleted alone goes after a few seconds, and its change is said then', () => {
  const { names, remove, changes } = begin('tor1', 'tor2');
  remove('tor2');
  vi.advanceTimersByTime(4_000);
  expect([names(), changes()]).toEqual(['tor1,tor2', 0]);
  vi.advanceTimersByTime(2_000);
  expect([names(), changes()]).toEqual(['tor1', 1]);
  expect(vi.getTimerCount()).toBe(0);
});

test('one that is made again at once is there once', () => {
  const { names, remove, put } = begin('tor1');
  remove('tor1');
  put('tor1');
  expect(names()).toBe('tor1');
});

test('objects that went with their definition count until there is one again', () => {
  const { cache, names, remove, put } = begin('tor1', 'tor2');
  remove('tor1');
  remove('tor2');
  vi.advanceTimersByTime(1_000);
  cache.refusal = 'not registered';
  vi.advanceTimersByTime(600_000);
  expect(names()).toBe('tor1,tor2');
  cache.refusal = undefined;
  vi.advanceTimersByTime(600_000);
  expect(names()).toBe('tor1,tor2');
  put('tor3');
  vi.advanceTimersByTime(1_000);
  expect(names()).toBe('tor3');
  expect(vi.getTimerCount()).toBe(0);
});
