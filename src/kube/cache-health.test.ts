import { expect, test } from 'vitest';
import { type CacheState, servedCheck, syncedCheck, watchesCheck } from './cache-health.ts';

const cache = (name: string, more: Partial<CacheState> = {}): CacheState => ({
  name,
  hasSynced: true,
  refusal: undefined,
  silentMs: () => 3_000,
  ...more,
});

test('caches that have listed everything and hear from the API server', () => {
  const caches = [cache('nodes'), cache('nodeblocks.cadastre.dev', { silentMs: () => 40_000 })];
  expect(syncedCheck(caches)).toEqual({ isOk: true, says: '2 caches are synced' });
  const says = 'the longest silence of a cache is 40 s';
  expect(watchesCheck(caches)).toEqual({ isOk: true, says });
  expect(servedCheck(caches)).toEqual({ isOk: true, says: 'all are registered' });
});

test('what is not synced is named, with the reason that the API server gave', () => {
  const caches = [
    cache('nodes'),
    cache('services', { hasSynced: false, refusal: 'forbidden' }),
    cache('nodeblocks.cadastre.dev', { hasSynced: false, silentMs: () => 90_000 }),
  ];
  const says = 'not synced yet: services (forbidden), nodeblocks.cadastre.dev';
  expect(syncedCheck(caches)).toEqual({ isOk: false, says });
  // It never was in step: that is said above, not here.
  expect(watchesCheck(caches).isOk).toBe(true);
  const unknown = 'not known yet: nodeblocks.cadastre.dev';
  expect(servedCheck(caches)).toEqual({ isOk: false, says: unknown });
});

test('a cache that has received nothing for longer than its limit is named', () => {
  const caches = [
    cache('nodes', { silentMs: () => 61_000 }),
    cache('nodeblocks.cadastre.dev', { silentMs: () => 75_400, refusal: 'not registered' }),
  ];
  expect(watchesCheck(caches)).toEqual({
    isOk: false,
    says: 'nothing was received about nodes for 61 s, nodeblocks.cadastre.dev (not registered) for 75 s',
  });
  const says = 'not registered: nodeblocks.cadastre.dev';
  expect(servedCheck(caches)).toEqual({ isOk: false, says });
});
