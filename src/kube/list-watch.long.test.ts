import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendStatus } from '../../test/parts/fault-proxy.ts';
import { runs } from '../../test/parts/random.ts';
import { seededRandom } from '../../test/parts/seeded-random.ts';
import {
  sendJson,
  TestApi,
  thing,
  thingCrd,
  things,
  thingsPath,
  until,
} from '../../test/parts/test-api.ts';
import type { Log } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import { KubeClient } from './client.ts';
import { ListWatch, type ListWatchOptions } from './list-watch.ts';
import type { Kept } from './object-cache.ts';
import type { StoredObject } from './resource.ts';

function keep(raw: unknown): Kept {
  const { metadata } = raw as StoredObject;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
  };
}

let api: TestApi;
let client: KubeClient;
let stop: AbortController;
let said: string[];
let told: string[];
const log: Log = {
  debug() {},
  info: (_fields, message) => said.push(`info ${message}`),
  warn: (_fields, message) => said.push(`warn ${message}`),
  error: (fields, message) => said.push(`error ${message} ${JSON.stringify(fields)}`),
};

beforeEach(async () => {
  api = await TestApi.start();
  client = new KubeClient(api.access(), { requestTimeoutMs: 1_000, random: () => 0 });
  stop = new AbortController();
  said = [];
  told = [];
});
afterEach(async () => {
  stop.abort();
  await client.close();
  await api.stop();
});

function follow(more: Partial<ListWatchOptions<Kept>> = {}, signal = stop.signal): ListWatch<Kept> {
  const listWatch = new ListWatch<Kept>({
    client,
    resource: things,
    keep,
    log,
    backoff: { baseMs: 5, capMs: 50 },
    handler: {
      onPut: (next, prev) => told.push(`${prev ? 'changed' : 'new'} ${next.name}`),
      onDelete: (last, how) => told.push(`${how} ${last.name}`),
    },
    ...more,
  });
  listWatch.start(signal);
  return listWatch;
}

let serial = 0;
/** Each a change, also where it is there already. */
const put = (...names: string[]) => {
  for (const name of names) api.put(`${thingsPath}/${name}`, { serial: ++serial });
};
const bookmark = () => {
  const object = { kind: 'Thing', metadata: { resourceVersion: String(api.version) } };
  api.proxy.sendToWatches(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
};
const names = (listWatch: ListWatch<Kept>) =>
  [...listWatch.values()].map(({ name }) => name).sort();
/** Whole ones: a page of one object only asks how far the server is. */
const lists = () =>
  api.asked.filter(({ path, query }) => {
    return path === thingsPath && !query.has('watch') && query.get('limit') !== '1';
  }).length;
const watches = () => api.asked.filter(({ query }) => query.has('watch')).length;
const up = () => until('the watch is up', () => api.proxy.watching === 1);

describe('following', () => {
  test('what is there, and what happens then', async () => {
    put('a', 'b');
    const listWatch = follow({ pageSize: 1 });
    expect(listWatch.hasSynced).toBe(false);
    await listWatch.synced;
    expect(listWatch.hasSynced).toBe(true);
    expect(names(listWatch)).toEqual(['a', 'b']);
    await up();
    put('c', 'a');
    api.delete(`${thingsPath}/b`);
    await until('it is heard', () => told.length === 5);
    expect(told).toEqual(['new a', 'new b', 'new c', 'changed a', 'observed b']);
    expect(listWatch.size).toBe(2);
    expect(listWatch.get('a')?.resourceVersion).toBe(
      api.object(`${thingsPath}/a`)?.metadata.resourceVersion,
    );
  });

  test('the list asks for the latest, and the watch for bookmarks and a jittered end', async () => {
    await follow({ watchSeconds: 100, random: () => 0 }).synced;
    await up();
    expect(api.asked[0]?.query.has('resourceVersion')).toBe(false);
    const { query } = api.asked[1]!;
    expect(query.get('allowWatchBookmarks')).toBe('true');
    expect(query.get('timeoutSeconds')).toBe('88');
    expect(query.get('resourceVersion')).toBe(String(api.version));
  });

  test('a watch that ends is resumed from the last version, a bookmark included, without a list', async () => {
    put('a');
    let nowMs = 1;
    const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
    const listWatch = follow({ clock });
    await listWatch.synced;
    await up();
    put('b');
    await until('b is heard', () => told.includes('new b'));
    // Of another kind: only a bookmark tells of the version.
    api.put('/api/v1/nodes/n');
    nowMs += 1;
    bookmark();
    await until('the bookmark is heard', () => listWatch.silentMs() === 0);
    api.proxy.endWatches();
    await until('it watches again', () => watches() === 2);
    expect(api.asked.at(-1)?.query.get('resourceVersion')).toBe(String(api.version));
    expect(lists()).toBe(1);
  });

  test('a broken connection loses nothing that happened meanwhile', async () => {
    put('a');
    const listWatch = follow();
    await listWatch.synced;
    await up();
    let isDown = true;
    api.intercept = (_asked, response) => {
      if (isDown) response.destroy();
      return isDown;
    };
    api.proxy.dropWatches();
    put('b');
    api.delete(`${thingsPath}/a`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    isDown = false;
    await until('it caught up', () => names(listWatch).join() === 'b');
    expect(told).toEqual(['new a', 'new b', 'observed a']);
    expect(lists()).toBe(1);
  });
});

describe('healing', () => {
  test('a version the server forgot: list again, tell only what changed', async () => {
    put('a', 'b', 'c');
    const listWatch = follow();
    await listWatch.synced;
    await up();
    told = [];
    api.proxy.set({ goneWatch: 1 });
    api.proxy.dropWatches();
    put('d', 'b');
    api.delete(`${thingsPath}/c`);
    await until('it caught up', () => names(listWatch).join() === 'a,b,d');
    expect(told.sort()).toEqual(['changed b', 'missing c', 'new d']);
  });

  test('410 as an event inside the watch', async () => {
    put('a');
    const listWatch = follow();
    await listWatch.synced;
    await up();
    let once = true;
    api.intercept = (asked, response) => {
      if (!once || !asked.query.has('watch')) return false;
      once = false;
      const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
      response.writeHead(200).end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      return true;
    };
    api.proxy.endWatches();
    await until('it listed again', () => lists() === 2);
    await up();
    expect(told).toEqual(['new a']);
  });

  test('410 for ever is not a hot loop', async () => {
    put('a');
    api.proxy.set({ goneWatch: 1 });
    await follow({ backoff: { baseMs: 50, capMs: 100 } }).synced;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(lists()).toBeLessThan(12);
    api.proxy.calm();
    await up();
  });

  test('a watch that ends at once, for ever, is not a hot loop either', async () => {
    api.intercept = (asked, response) => {
      if (!asked.query.has('watch')) return false;
      response.writeHead(200).end();
      return true;
    };
    await follow({ backoff: { baseMs: 50, capMs: 100 } }).synced;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(watches()).toBeLessThan(12);
    expect(lists()).toBe(1);
    expect(said).toEqual(['warn cannot list or watch things.test.dev; retrying']);
  });

  test('a list that expires between its pages', async () => {
    for (let i = 0; i < 10; i += 1) put(`t${i}`);
    let expiries = 2;
    api.intercept = (asked, response) => {
      if (!asked.query.has('continue') || expiries === 0) return false;
      expiries -= 1;
      if (expiries === 0) api.delete(`${thingsPath}/t0`);
      sendStatus(response, 410, 'Expired');
      return true;
    };
    const listWatch = follow({ pageSize: 3 });
    await listWatch.synced;
    expect(listWatch.size).toBe(9);
    expect(listWatch.get('t0')).toBeUndefined();
  });

  test('a torn line and a line of nonsense: resumed from the last good event', async () => {
    put('a');
    const listWatch = follow();
    await listWatch.synced;
    await up();
    let bad = [
      '{"type":"ADDED","object":{"metadata":{"name":"to',
      '{"type":"BANANA","object":{}}\n',
    ];
    api.intercept = (asked, response) => {
      const text = bad[0];
      if (!asked.query.has('watch') || text === undefined) return false;
      bad = bad.slice(1);
      response.writeHead(200).end(text);
      return true;
    };
    api.proxy.endWatches();
    put('b');
    await until('b is heard', () => listWatch.get('b') !== undefined);
    expect(names(listWatch)).toEqual(['a', 'b']);
    expect(lists()).toBe(1);
  });

  test('a server that is away comes back: one complaint, then following again', async () => {
    put('a');
    let isDown = true;
    api.intercept = (_asked, response) => {
      if (isDown) sendStatus(response, 500, 'InternalError');
      return isDown;
    };
    const listWatch = follow();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(listWatch.hasSynced).toBe(false);
    isDown = false;
    await listWatch.synced;
    await up();
    put('b');
    await until('b is heard', () => told.includes('new b'));
    expect(said).toEqual([
      'warn cannot list or watch things.test.dev; retrying',
      'info listing and watching things.test.dev works again',
    ]);
  });

  test('the first watch after an outage is short: its end is heard, although nothing happens', async () => {
    await follow({ random: () => 0.5 }).synced;
    await up();
    let refused = 0;
    api.intercept = (_asked, response) => {
      refused += 1;
      if (refused < 3) sendStatus(response, 500, 'InternalError');
      return refused < 3;
    };
    api.proxy.endWatches();
    await until('it watches again', () => watches() === 2);
    expect(api.asked.at(-1)?.query.get('timeoutSeconds')).toBe('5');
  });

  test('a resource that is not registered yet is waited for, and said so once', async () => {
    await api.stop();
    api = await TestApi.start([]);
    client = new KubeClient(api.access());
    const listWatch = follow();
    await until('it was asked for again', () => api.asked.length > 2);
    expect(said).toEqual([
      'info the API server does not serve things.test.dev yet; waiting for it',
    ]);
    await api.register(thingCrd);
    put('a');
    await listWatch.synced;
    // The first list may have come between the two lines above: then the watch brings it.
    await until('a is held', () => listWatch.size === 1);
  });

  test('a connection that stays open and says nothing is given up', async () => {
    put('a');
    const listWatch = follow({ watchSeconds: 1, silenceGraceMs: 100, random: () => 0 });
    let once = true;
    api.intercept = (asked, response) => {
      if (!once || !asked.query.has('watch')) return false;
      once = false;
      response.writeHead(200).flushHeaders();
      return true;
    };
    await listWatch.synced;
    put('b');
    await until('b is heard', () => listWatch.get('b') !== undefined);
    expect(watches()).toBe(2);
  });

  test('watches that send nothing, one after the other: then lists have to do', async () => {
    put('a');
    const listWatch = follow({ watchSeconds: 1, silenceGraceMs: 100, random: () => 0 });
    api.intercept = (asked, response) => {
      if (!asked.query.has('watch')) return false;
      response.writeHead(200).flushHeaders();
      return true;
    };
    await listWatch.synced;
    put('b');
    await until('b is heard', () => listWatch.get('b') !== undefined);
    expect(lists()).toBe(2);
  });

  test('one object that nobody understands stops no other', async () => {
    put('a', 'bad', 'c');
    const listWatch = follow({
      keep: (raw) => {
        const kept = keep(raw);
        if (kept.name === 'bad') throw new Error('what is this');
        return kept;
      },
    });
    await listWatch.synced;
    expect(names(listWatch)).toEqual(['a', 'c']);
    expect(said).toEqual([expect.stringContaining('what is this')]);
  });
});

describe('stale lists', () => {
  test('an old list changes nothing and is asked for again until a true one comes', async () => {
    put('a');
    const old = await client.rawGet(thingsPath);
    api.delete(`${thingsPath}/a`);
    put('b');
    const listWatch = follow();
    await listWatch.synced;
    told = [];
    let lies = 3;
    api.intercept = (asked, response) => {
      if (asked.query.has('watch') || lies === 0) return false;
      lies -= 1;
      sendJson(response, 200, old);
      return true;
    };
    put('c');
    await listWatch.relist();
    expect(lies).toBe(0);
    expect(names(listWatch)).toEqual(['b', 'c']);
    expect(told).toEqual(['new c']);
  });

  test('an etcd restored from a backup: after a while what it has is the truth again', async () => {
    put('a', 'gone-in-backup-only');
    const backup = await api.backUp();
    api.delete(`${thingsPath}/gone-in-backup-only`);
    put('a', 'later');
    const listWatch = follow({ staleGraceMs: 300 });
    await listWatch.synced;
    await up();
    // A write of our own that the backup does not know either.
    listWatch.put(api.put(`${thingsPath}/ours`));
    await api.restore(backup);
    await until('the cache is what the server has', () => {
      return names(listWatch).join() === 'a,gone-in-backup-only';
    });
    expect(said.join()).toContain('starting over with what it has');
    // And it is followed again: versions go on from the backup's.
    put('new');
    api.delete(`${thingsPath}/a`);
    await until('it follows', () => names(listWatch).join() === 'gone-in-backup-only,new');
  });
});

describe('a store that went back in time', () => {
  /** What the backup has: `old`; what came after it: a change of `old`, and `lost`. */
  async function backedUp(more: Partial<ListWatchOptions<Kept>> = {}) {
    put('old', 'deleted-later');
    const backup = await api.backUp();
    const lost: string[][] = [];
    const listWatch = follow({
      // Whoever waits for it, waits for longer than the test lasts.
      staleGraceMs: 3_600_000,
      onStartedOver: (all) => lost.push(all.map(({ name }) => name).sort()),
      ...more,
    });
    await listWatch.synced;
    await up();
    put('lost', 'old');
    await until('the changes are heard', () => told.includes('changed old'));
    return { backup, listWatch, lost };
  }
  const has = (listWatch: ListWatch<Kept>, ...wanted: string[]) =>
    until(`it has ${wanted}`, () => names(listWatch).join() === wanted.sort().join());

  test('is noticed by the newest object: the cache starts over at once, and says what was lost', async () => {
    const { backup, listWatch, lost } = await backedUp();
    await api.restore(backup);
    await has(listWatch, 'old', 'deleted-later');
    expect(lost).toEqual([['lost', 'old']]);
    expect(said.join()).toContain('starting over with what it has');
    put('new');
    await has(listWatch, 'old', 'deleted-later', 'new');
    expect(lost).toHaveLength(1);
  });

  test('also when its count has passed ours before we are back', async () => {
    const { backup, listWatch, lost } = await backedUp();
    let isAway = true;
    api.intercept = (_asked, response) => {
      if (isAway) response.destroy();
      return isAway;
    };
    await api.restore(backup);
    for (let at = 0; at < 50; at++) api.put(`/api/v1/nodes/n${at}`);
    put('new');
    isAway = false;
    await has(listWatch, 'old', 'deleted-later', 'new');
    expect(lost).toEqual([['lost', 'old']]);
  });

  test('also when the watch was ended in good order, as by a server that is stopped', async () => {
    const { backup, listWatch, lost } = await backedUp();
    let isAway = true;
    api.intercept = (_asked, response) => {
      if (isAway) response.destroy();
      return isAway;
    };
    api.proxy.endWatches();
    await api.restore(backup);
    isAway = false;
    await has(listWatch, 'old', 'deleted-later');
    expect(lost).toEqual([['lost', 'old']]);
  });

  test('is noticed by a deleted object that is back', async () => {
    const { backup, listWatch, lost } = await backedUp();
    api.delete(`${thingsPath}/deleted-later`);
    await has(listWatch, 'lost', 'old');
    await api.restore(backup);
    await has(listWatch, 'old', 'deleted-later');
    expect(lost).toEqual([['lost', 'old']]);
  });

  test('is noticed by a bookmark that is older than what was seen', async () => {
    const { listWatch, lost } = await backedUp();
    // The connection stays; only what comes over it is of another history.
    const metadata = api.object(`${thingsPath}/old`)!.metadata;
    api.delete(`${thingsPath}/lost`);
    await has(listWatch, 'old', 'deleted-later');
    api.intercept = (asked, response) => {
      if (!asked.path.endsWith('/lost')) return false;
      sendJson(response, 200, { metadata: { ...metadata, name: 'lost', resourceVersion: '3' } });
      return true;
    };
    const object = { kind: 'Thing', metadata: { resourceVersion: '2' } };
    api.proxy.sendToWatches(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
    await until('it started over', () => lost.length === 1);
    expect(names(listWatch)).toEqual(['deleted-later', 'old']);
  });

  test('an event that is older than what was seen changes nothing by itself', async () => {
    const { listWatch, lost } = await backedUp();
    const object = {
      ...thing('ghost'),
      metadata: { name: 'ghost', uid: 'g', resourceVersion: '2' },
    };
    api.proxy.sendToWatches(`${JSON.stringify({ type: 'ADDED', object })}\n`);
    await until('it watches again', () => watches() === 2);
    expect(names(listWatch)).toEqual(['deleted-later', 'lost', 'old']);
    expect(lost).toEqual([]);
    expect(lists()).toBe(1);
  });

  test('an object that was deleted while nobody listened is no such thing', async () => {
    const { listWatch, lost } = await backedUp();
    let isAway = true;
    api.intercept = (_asked, response) => {
      if (isAway) response.destroy();
      return isAway;
    };
    api.proxy.dropWatches();
    api.delete(`${thingsPath}/old`);
    isAway = false;
    await has(listWatch, 'lost', 'deleted-later');
    expect(lost).toEqual([]);
  });

  test('who may not read one object goes by the count, after the grace', async () => {
    const { backup, listWatch, lost } = await backedUp({ staleGraceMs: 200 });
    api.intercept = (asked, response) => {
      if (!asked.path.startsWith(`${thingsPath}/`)) return false;
      sendStatus(response, 403, 'Forbidden');
      return true;
    };
    await api.restore(backup);
    await has(listWatch, 'old', 'deleted-later');
    expect(lost).toEqual([['lost', 'old']]);
  });
});

describe('relist', () => {
  test('resolves only after a list that began after the call', async () => {
    put('a');
    const listWatch = follow();
    await listWatch.synced;
    await up();
    // From here on no event gets through: only a list can tell.
    let held: (() => void) | undefined;
    api.intercept = async (asked) => {
      if (asked.query.has('watch')) return true;
      await new Promise<void>((resolve) => {
        held = resolve;
      });
      return false;
    };
    const first = listWatch.relist();
    await until('a list is under way', () => held !== undefined);
    const second = listWatch.relist();
    let isSecondDone = false;
    second.then(() => {
      isSecondDone = true;
    });
    held?.();
    held = undefined;
    await first;
    put('b');
    await until('another list is under way', () => held !== undefined);
    expect(isSecondDone).toBe(false);
    (held as unknown as () => void)();
    await second;
    expect(listWatch.get('b')).toBeDefined();
    expect(lists()).toBe(3);
  });

  test('survives failures and is heard during a back-off', async () => {
    put('a');
    let isDown = true;
    api.intercept = (_asked, response) => {
      if (isDown) response.destroy();
      return isDown;
    };
    const listWatch = follow({ backoff: { baseMs: 20, capMs: 40 } });
    const relisted = listWatch.relist();
    await new Promise((resolve) => setTimeout(resolve, 100));
    isDown = false;
    await relisted;
    expect(listWatch.size).toBe(1);
  });

  test('stopping rejects who still waits', async () => {
    api.intercept = () => true;
    const listWatch = follow();
    const relisted = listWatch.relist();
    await until('the list is under way', () => api.asked.length > 0);
    stop.abort();
    await expect(relisted).rejects.toThrow('stopped');
    await expect(listWatch.synced).rejects.toThrow('stopped');
  });
});

describe('our own writes', () => {
  test('are seen at once, and the echo on the watch is not told twice', async () => {
    const listWatch = follow();
    await listWatch.synced;
    await up();
    const answer = await client.create(things, thing('ours'));
    listWatch.put(answer);
    expect(told).toEqual(['new ours']);
    put('other');
    await until('the other is heard', () => told.includes('new other'));
    expect(told).toEqual(['new ours', 'new other']);
    await client.delete(things, 'ours');
    listWatch.remove('ours', answer.metadata.uid ?? '');
    expect(names(listWatch)).toEqual(['other']);
    put('more');
    await until('more is heard', () => told.includes('new more'));
    expect(told.filter((line) => line.endsWith('ours'))).toEqual(['new ours', 'observed ours']);
  });
});

test('how long nothing was heard is known and measured; a bookmark is hearing', async () => {
  let nowMs = 1_000;
  const metrics = new Metrics();
  const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
  const listWatch = follow({ clock, metrics });
  await listWatch.synced;
  await up();
  nowMs += 7_000;
  expect(listWatch.silentMs()).toBe(7_000);
  expect(metrics.text()).toContain('cadastre_kube_silent_seconds{resource="things.test.dev"} 7');
  bookmark();
  await until('the bookmark is heard', () => listWatch.silentMs() === 0);
});

test('random trouble, a thousand changes: it ends as the server has it', async () => {
  const property = fc.asyncProperty(fc.noShrink(fc.nat()), async (seed) => {
    const random = seededRandom(seed);
    let isCalm = false;
    let troubles = 0;
    const past: unknown[] = [await client.rawGet(thingsPath)];
    api.intercept = (asked, response) => {
      const dice = random();
      if (isCalm || dice > 0.4) return false;
      troubles += 1;
      const isWatch = asked.query.has('watch');
      // Lists may be stale; how far the store is comes from the store.
      const mayLie = !isWatch && asked.query.get('limit') !== '1';
      if (dice < 0.1) response.destroy();
      else if (dice < 0.15) sendStatus(response, 500, 'InternalError');
      else if (dice < 0.2) sendStatus(response, 410, 'Expired');
      else if (dice < 0.3 && mayLie) {
        sendJson(response, 200, past[Math.floor(random() * past.length)]);
      } else if (isWatch) response.writeHead(200).end('{"type":"ADDED","obj');
      else {
        troubles -= 1;
        return false;
      }
      return true;
    };
    const versions = new Map<string, number>();
    const over = new AbortController();
    const listWatch = follow(
      {
        pageSize: 7,
        backoff: { baseMs: 1, capMs: 5 },
        handler: {
          onPut: (next, prev) => {
            expect(Number(next.resourceVersion)).toBeGreaterThan(versions.get(next.uid) ?? 0);
            expect(prev?.uid ?? next.uid).toBe(next.uid);
            versions.set(next.uid, Number(next.resourceVersion));
          },
          onDelete: () => {},
        },
      },
      over.signal,
    );
    for (let i = 0; i < 1_000; i += 1) {
      const name = `t${Math.floor(random() * 40)}`;
      const path = `${thingsPath}/${name}`;
      if (random() < 0.3) {
        if (api.object(path) !== undefined) api.delete(path);
      } else if (random() < 0.2) {
        const answer = await client.create(things, thing(name)).catch(() => undefined);
        if (answer !== undefined) listWatch.put(answer);
      } else put(name);
      if (random() < 0.05) api.proxy.dropWatches();
      if (random() < 0.02) past.push(await client.rawGet(thingsPath).catch(() => past[0]));
      if (random() < 0.02) listWatch.relist().catch(() => {});
      if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    isCalm = true;
    const truth = () =>
      api.objects(thingsPath).map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
    const cached = () =>
      [...listWatch.values()].map((kept) => `${kept.name}@${kept.resourceVersion}`);
    await until('the cache is true', () => cached().sort().join() === truth().sort().join());
    over.abort();
    expect(troubles).toBeGreaterThan(20);
    expect(said.filter((line) => line.startsWith('error'))).toEqual([]);
  });
  await fc.assert(property, { numRuns: runs(3) });
});
