import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import type { ApiObject } from '../object.ts';
import { ObjectStore } from './store.ts';

/** As version 0.1.0 wrote it. */
const sealed = (line: string) => `${crc32(line).toString(16).padStart(8, '0')} ${line}\n`;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'store-'));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const object = (name: string, n = 0): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name },
  n,
});

const put = (store: ObjectStore, name: string, n = 0) =>
  store.put(store.collection('things'), name, object(name, n));

const content = (store: ObjectStore) =>
  store
    .collection('things')
    .list()
    .map(({ key, version, object: each }) => `${key} ${each.n} @${version}`);

describe('what is kept', () => {
  test('survives, with versions that go on where they were', async () => {
    const first = await ObjectStore.open({ dir });
    put(first, 'b', 1);
    put(first, 'a', 1);
    put(first, 'b', 2);
    first.remove(first.collection('things'), 'a');
    await first.settled();
    const before = content(first);
    await first.close();
    const second = await ObjectStore.open({ dir });
    expect(content(second)).toEqual(before);
    expect(second.version).toBe(first.version);
    expect(put(second, 'c').entry.version).toBe(first.version + 1);
    await second.close();
  });

  test('can be watched from and listed at after a restart as before it', async () => {
    const first = await ObjectStore.open({ dir });
    put(first, 'a', 1);
    const { entry } = put(first, 'b', 1);
    put(first, 'a', 2);
    await first.close();
    const second = await ObjectStore.open({ dir });
    const things = second.collection('things');
    expect(
      things.since(entry.version)?.map(({ key, after }) => `${key} ${after?.object.n}`),
    ).toEqual(['a 2']);
    const then = things.listAt(entry.version)?.map(({ key, object: each }) => `${key} ${each.n}`);
    expect(then).toEqual(['a 1', 'b 1']);
    await second.close();
  });

  test('survives any number of snapshots, while writes go on', async () => {
    const first = await ObjectStore.open({ dir, compactAboveBytes: 500 });
    const last = new Map<string, number>();
    for (let n = 0; n < 300; n++) {
      const name = `t${n % 7}`;
      const { safe } = put(first, name, n);
      last.set(name, n);
      if (n % 10 === 0) await safe;
    }
    await first.close();
    expect(readdirSync(dir).some((name) => name.startsWith('snapshot-'))).toBe(true);
    expect(readdirSync(dir).filter((name) => name.startsWith('snapshot-')).length).toBeLessThan(3);
    const second = await ObjectStore.open({ dir });
    const found = second.collection('things').list();
    expect(found.map(({ key, object: each }) => [key, each.n])).toEqual(
      [...last].sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    await second.close();
  });

  test('what a snapshot has made forgotten cannot be watched from', async () => {
    const first = await ObjectStore.open({ dir });
    put(first, 'a', 1);
    put(first, 'a', 2);
    await first.settled();
    await first.compact();
    await first.close();
    const second = await ObjectStore.open({ dir });
    expect(second.collection('things').since(2)).toBeUndefined();
    expect(second.collection('things').since(second.version)).toEqual([]);
    await second.close();
  });
});

describe('a crash', () => {
  async function written(): Promise<string> {
    const store = await ObjectStore.open({ dir });
    put(store, 'a', 1);
    put(store, 'b', 1);
    await store.close();
    return join(dir, 'log-0');
  }

  test('at any byte of the last line loses that line and nothing else', async () => {
    const path = await written();
    // Without the room that is reserved behind the lines.
    const file = readFileSync(path);
    const whole = file.subarray(0, file.lastIndexOf(10) + 1);
    const lastLine = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (let cut = lastLine; cut < whole.length; cut += 7) {
      writeFileSync(path, Buffer.concat([whole.subarray(0, cut), Buffer.alloc(1_000)]));
      const store = await ObjectStore.open({ dir });
      expect(content(store)).toEqual(['a 1 @2']);
      // And what is written next is whole again.
      put(store, 'c', 1);
      await store.close();
      const again = await ObjectStore.open({ dir });
      expect(content(again)).toEqual(['a 1 @2', 'c 1 @3']);
      await again.close();
    }
  });

  test('leaves no rubbish behind the last line: that is damage, and refused', async () => {
    const path = await written();
    const file = readFileSync(path);
    const end = file.lastIndexOf(10) + 1;
    file.write(`00000000 {"c":"things","k":"${'x'.repeat(60)}"\n`, end);
    writeFileSync(path, file);
    await expect(ObjectStore.open({ dir })).rejects.toThrow(
      `log-0: byte ${end} (line 4) cannot be read`,
    );
  });

  test('in the middle of a snapshot leaves the log, and the half snapshot is forgotten', async () => {
    await written();
    writeFileSync(join(dir, 'snapshot-1.tmp'), sealed('{"version":99}'));
    const store = await ObjectStore.open({ dir });
    expect(content(store)).toEqual(['a 1 @2', 'b 1 @3']);
    expect(readdirSync(dir)).toEqual(['log-0', 'newest.json']);
    await store.close();
  });

  test('between the new log and its snapshot leaves both logs, read in order', async () => {
    await written();
    const line = JSON.stringify({
      c: 'things',
      k: 'a',
      o: { ...object('a', 9), metadata: { name: 'a', resourceVersion: '4' } },
    });
    writeFileSync(join(dir, 'log-1'), sealed(line));
    const store = await ObjectStore.open({ dir });
    expect(content(store)).toEqual(['a 9 @4', 'b 1 @3']);
    await store.close();
  });

  test('is told from damage: a bad line with good ones behind it is refused, and kept', async () => {
    const path = await written();
    const text = readFileSync(path, 'utf8');
    const damaged = text.replace('"n":1', '"n":7');
    writeFileSync(path, damaged);
    await expect(ObjectStore.open({ dir })).rejects.toThrow(
      /log-0: byte \d+ \(line 2\) cannot be read/,
    );
    expect(readFileSync(path, 'utf8')).toBe(damaged);
  });
});

test('nobody is told of a change before it is on disk', async () => {
  const store = await ObjectStore.open({ dir });
  const told: number[] = [];
  store.collection('things').watchers.add(({ version }) => {
    const onDisk = readFileSync(join(dir, 'log-0'), 'utf8');
    expect(onDisk).toContain(`"resourceVersion":"${version}"`);
    told.push(version);
  });
  const writes = Array.from({ length: 50 }, (_, n) => put(store, `t${n % 3}`, n).safe);
  expect(told).toEqual([]);
  await Promise.all(writes);
  expect(told).toEqual(Array.from({ length: 50 }, (_, n) => n + 2));
  await store.close();
});

test('a disk that refuses is told to every writer, and nothing is acknowledged after it', async () => {
  const told: unknown[] = [];
  const store = await ObjectStore.open({ dir, onFailure: (error) => told.push(error) });
  await put(store, 'a', 1).safe;
  await store.close();
  // The file is closed: the next write fails as a broken disk would make it fail.
  const late = put(store, 'b', 1).safe;
  await expect(late).rejects.toThrow(/cannot write/);
  await expect(put(store, 'c', 1).safe).rejects.toThrow(/cannot write/);
  await expect(store.settled()).rejects.toThrow(/cannot write/);
  expect([store.hasFailed, told.length]).toEqual([true, 1]);
  const again = await ObjectStore.open({ dir });
  expect(content(again)).toEqual(['a 1 @2']);
  await again.close();
});

test('a list at an earlier version is what a list then was', async () => {
  const store = await ObjectStore.open({ dir, waitsForDisk: false });
  const things = store.collection('things');
  const change = fc.record({ name: fc.constantFrom(...'abcdefgh'), removes: fc.boolean() });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 100, size: 'max' }), (changes) => {
      const then = new Map<number, string[]>();
      for (const [turn, { name, removes }] of changes.entries()) {
        if (removes && things.get(name) !== undefined) store.remove(things, name);
        else put(store, name, turn);
        then.set(store.version, content(store));
      }
      for (const [version, was] of then) {
        const now = things
          .listAt(version)
          ?.map(({ key, version: v, object: o }) => `${key} ${o.n} @${v}`);
        expect(now).toEqual(was);
      }
    }),
    { numRuns: runs(10) },
  );
  await store.close();
});

test('a folder that version 0.1.0 wrote opens, and grows', async () => {
  for (const name of ['snapshot-1', 'log-1']) {
    copyFileSync(join(import.meta.dirname, 'testdata', name), join(dir, name));
  }
  const read = (store: ObjectStore) =>
    store
      .collection('configmaps')
      .list()
      .map(({ key, version, object }) => `${key} ${version} ${(object.data as { n: string }).n}`);
  const first = await ObjectStore.open({ dir });
  expect(read(first)).toEqual(['a 7 3', 'c 5 1']);
  const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'd' }, data: { n: '1' } };
  await first.put(first.collection('configmaps'), 'd', made).safe;
  await first.close();
  const second = await ObjectStore.open({ dir });
  expect(read(second)).toEqual(['a 7 3', 'c 5 1', 'd 8 1']);
  await second.close();
});
