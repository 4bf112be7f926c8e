import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/parts/random.ts';
import { type Kept, ObjectCache } from './object-cache.ts';
import type { StoredObject } from './resource.ts';

interface Thing extends Kept {
  value: number;
}

const raw = (name: string, version: number, uid = `uid-${name}`, value = version): StoredObject =>
  ({ metadata: { name, uid, resourceVersion: String(version) }, value }) as never;

function keep(object: unknown): Thing {
  const { metadata, value } = object as StoredObject & { value: number };
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    value,
  };
}

function newCache() {
  const told: string[] = [];
  const trouble: string[] = [];
  const cache = new ObjectCache<Thing>({
    keep,
    handler: {
      onPut: (next, prev) =>
        told.push(
          `put ${next.name}@${next.resourceVersion}${prev ? ` was ${prev.resourceVersion}` : ''}`,
        ),
      onDelete: (last, how) => told.push(`${how} ${last.name}@${last.resourceVersion}`),
    },
    onBadObject: (key) => trouble.push(key),
  });
  return { cache, told, trouble };
}

function list(cache: ObjectCache<Thing>, version: number, objects: StoredObject[]): boolean {
  if (!cache.beginList(String(version))) return false;
  for (const object of objects) cache.putListed(object);
  cache.endList();
  return true;
}

test('a relist tells only what changed, and notices what is missing', () => {
  const { cache, told } = newCache();
  list(cache, 10, [raw('a', 3), raw('b', 4), raw('c', 5)]);
  told.length = 0;
  list(cache, 20, [raw('a', 3), raw('b', 15)]);
  expect(told).toEqual(['put b@15 was 4', 'missing c@5']);
});

test('a list older than what was seen is refused whole', () => {
  const { cache, told } = newCache();
  list(cache, 10, [raw('a', 3)]);
  cache.deleteWatched(raw('a', 12));
  cache.putWatched(raw('b', 14));
  told.length = 0;
  expect(list(cache, 11, [raw('a', 3)])).toBe(false);
  expect(told).toEqual([]);
  expect([...cache.values()].map(({ name }) => name)).toEqual(['b']);
});

test('an object newer than the list is not missing from it', () => {
  const { cache } = newCache();
  list(cache, 10, []);
  cache.put(raw('ours', 25));
  list(cache, 20, []);
  expect(cache.get('ours')).toBeDefined();
  list(cache, 26, []);
  expect(cache.get('ours')).toBeUndefined();
});

test('the late answer to our own write does not bring a deleted object back', () => {
  const { cache, told } = newCache();
  list(cache, 10, [raw('a', 3)]);
  cache.deleteWatched(raw('a', 15));
  told.length = 0;
  cache.put(raw('a', 14));
  expect(told).toEqual([]);
  expect(cache.size).toBe(0);
});

test('what we deleted stays deleted while older news of it still comes in', () => {
  const { cache, told } = newCache();
  list(cache, 10, [raw('a', 3)]);
  cache.remove('a', 'uid-a');
  cache.putWatched(raw('a', 11));
  list(cache, 12, [raw('a', 11)]);
  expect(cache.get('a')).toBeUndefined();
  cache.deleteWatched(raw('a', 13));
  cache.putWatched(raw('a', 14, 'uid-new'));
  expect(cache.get('a')?.uid).toBe('uid-new');
  expect(told).toEqual(['put a@3', 'observed a@3', 'put a@14']);
});

test('removing is fenced by the uid', () => {
  const { cache } = newCache();
  list(cache, 10, [raw('a', 3, 'new')]);
  cache.remove('a', 'old');
  expect(cache.get('a')?.uid).toBe('new');
});

test('the end of an old namesake does not end the new one', () => {
  const { cache } = newCache();
  list(cache, 10, [raw('a', 3, 'old')]);
  cache.put(raw('a', 20, 'new'));
  cache.deleteWatched(raw('a', 15, 'old'));
  expect(cache.get('a')?.uid).toBe('new');
});

test('another uid under one name is an end and a beginning', () => {
  const { cache, told } = newCache();
  list(cache, 10, [raw('a', 3, 'old')]);
  list(cache, 20, [raw('a', 15, 'new')]);
  expect(told).toEqual(['put a@3', 'missing a@3', 'put a@15']);
});

test('an object that cannot be understood stops no other, and a held one is kept', () => {
  const trouble: string[] = [];
  const cache = new ObjectCache<Thing>({
    keep: (object) => {
      const kept = keep(object);
      if (kept.value === 666) throw new Error('nonsense');
      return kept;
    },
    onBadObject: (key) => trouble.push(key),
  });
  list(cache, 10, [raw('a', 3), raw('b', 4)]);
  list(cache, 20, [raw('a', 15, 'uid-a', 666), raw('b', 16)]);
  expect(trouble).toEqual(['a']);
  expect(cache.get('a')?.resourceVersion).toBe('3');
  expect(cache.get('b')?.resourceVersion).toBe('16');
});

test('a handler that throws stops no other', () => {
  const trouble: string[] = [];
  const cache = new ObjectCache<Thing>({
    keep,
    handler: {
      onPut: () => {
        throw new Error('handler');
      },
      onDelete: () => {},
    },
    onBadObject: (key) => trouble.push(key),
  });
  list(cache, 10, [raw('a', 3), raw('b', 4)]);
  expect(trouble).toEqual(['a', 'b']);
  expect(cache.size).toBe(2);
});

test('whatever the order of watch, stale lists and late answers, it ends as the server has it', () => {
  const names = ['a', 'b', 'c'];
  const step = fc.record({
    kind: fc.constantFrom('write', 'delete', 'watch', 'list', 'staleList', 'answer'),
    name: fc.constantFrom(...names),
    at: fc.double({ min: 0, max: 0.999, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      // The server: a log of what happened, version by version.
      const log: { version: number; name: string; object: StoredObject | undefined }[] = [];
      let version = 10;
      const uids = new Map<string, string>();
      const stateAt = (to: number) => {
        const state = new Map<string, StoredObject>();
        for (const entry of log) {
          if (entry.version > to) break;
          if (entry.object === undefined) state.delete(entry.name);
          else state.set(entry.name, entry.object);
        }
        return [...state.values()];
      };
      const versions = new Map<string, number>();
      const held = new Set<string>();
      const cache = new ObjectCache<Thing>({
        keep,
        handler: {
          onPut(next) {
            const last = versions.get(next.uid) ?? 0;
            expect(Number(next.resourceVersion)).toBeGreaterThan(last);
            versions.set(next.uid, Number(next.resourceVersion));
            held.add(next.uid);
          },
          onDelete(last) {
            expect(held.delete(last.uid)).toBe(true);
          },
        },
        onBadObject: (_key, error) => {
          throw error;
        },
      });
      let watched = 0;
      const watchOn = (entries: number) => {
        for (const entry of log.slice(watched, watched + entries)) {
          if (entry.object !== undefined) cache.putWatched(entry.object);
          else cache.deleteWatched(raw(entry.name, entry.version, uids.get(`${entry.version}`)));
        }
        watched = Math.min(log.length, watched + entries);
      };
      const listAt = (to: number) => {
        if (list(cache, to, stateAt(to))) {
          const next = log.findIndex((entry) => entry.version > to);
          watched = next === -1 ? log.length : next;
        }
      };
      listAt(version);
      for (const { kind, name, at } of steps) {
        if (kind === 'write') {
          version += 1;
          if (!uids.has(name)) uids.set(name, `uid-${version}`);
          log.push({ version, name, object: raw(name, version, uids.get(name)) });
        } else if (kind === 'delete' && uids.has(name)) {
          version += 1;
          uids.set(`${version}`, uids.get(name)!);
          uids.delete(name);
          log.push({ version, name, object: undefined });
        } else if (kind === 'watch') {
          watchOn(1 + Math.floor(at * 3));
        } else if (kind === 'list') {
          listAt(version);
        } else if (kind === 'staleList') {
          listAt(10 + Math.floor(at * (version - 9)));
        } else if (kind === 'answer' && log.length > 0) {
          // The answer to any write of the past, as late as you like.
          const { object } = log[Math.floor(at * log.length)]!;
          if (object !== undefined) cache.put(object);
        }
      }
      watchOn(log.length);
      const expected = stateAt(version).map(keep);
      const byName = (a: Thing, b: Thing) => (a.name < b.name ? -1 : 1);
      expect([...cache.values()].sort(byName)).toEqual(expected.sort(byName));
      expect(held.size).toBe(expected.length);
    }),
    { numRuns: runs(3_000) },
  );
});

test('a newer list with an older object starts over: the store went back and passed our count', () => {
  const { cache, told } = newCache();
  list(cache, 100, [raw('a', 60), raw('b', 90), raw('c', 95), raw('d', 50)]);
  told.length = 0;
  cache.beginList('200');
  cache.putListed(raw('a', 150));
  // Its version can only go up: 40 is of another history.
  cache.putListed(raw('b', 40));
  cache.putListed(raw('d', 50));
  const lost = cache.endList();
  expect(lost?.map(({ name, resourceVersion }) => `${name}@${resourceVersion}`)).toEqual([
    'b@90',
    'c@95',
  ]);
  expect(told).toEqual(['put a@150 was 60', 'put b@40 was 90', 'put d@50 was 50', 'missing c@95']);
  expect(cache.completeTo).toBe('200');
});

test('a list that starts over is finished by the next one if it broke off, and loses nothing of what was lost', () => {
  const { cache } = newCache();
  list(cache, 100, [raw('a', 60), raw('b', 90)]);
  cache.beginList('50', 'yes');
  cache.putListed(raw('a', 30));
  cache.beginList('52');
  cache.putListed(raw('a', 30));
  expect(cache.endList()?.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(cache.completeTo).toBe('52');
});

test('an ordinary list loses nothing', () => {
  const { cache } = newCache();
  list(cache, 100, [raw('a', 60)]);
  cache.beginList('110', 'if older');
  expect(cache.endList()).toBeUndefined();
});

test('the newest are the objects, and the deletion, with the highest versions', () => {
  const { cache } = newCache();
  const newest = () =>
    cache.newest(2).map(({ name, isDeleted }) => `${name}${isDeleted ? ' deleted' : ''}`);
  expect(newest()).toEqual([]);
  list(cache, 100, [raw('a', 60), raw('b', 90), raw('d', 50)]);
  expect(newest()).toEqual(['b', 'a']);
  cache.deleteWatched(raw('a', 110));
  expect(newest()).toEqual(['a deleted', 'b']);
  cache.putWatched(raw('c', 120));
  expect(newest()).toEqual(['c', 'a deleted']);
});
