/**
 * One file of a folder with a random history is damaged. Afterwards the store opens with all that
 * was acknowledged, or is refused with the file and the place.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contentDamages } from '../../../test/parts/file-damage.ts';
import { runs } from '../../../test/parts/random.ts';
import { seededRandom } from '../../../test/parts/seeded-random.ts';
import { CadastreError } from '../../base/errors.ts';
import { ObjectStore } from './store.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'store-damage-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const put = (store: ObjectStore, name: string, n: number) =>
  store.put(store.collection('things'), name, {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name },
    n,
  });

const content = (store: ObjectStore) =>
  store
    .collection('things')
    .list()
    .map(({ key, version, object }) => `${key} ${object.n} @${version}`);

async function history(dir: string, chance: () => number, snapshots: number): Promise<string[]> {
  const store = await ObjectStore.open({ dir, waitsForDisk: false });
  for (let n = 0; n < 12 + chance() * 10; n++) {
    const name = 'abcde'[Math.floor(chance() * 5)] as string;
    const isThere = store.collection('things').get(name) !== undefined;
    const { safe } =
      isThere && chance() < 0.3
        ? store.remove(store.collection('things'), name)
        : put(store, name, n);
    if (chance() < 0.7) await safe;
    if (n % 6 === 5 && n / 6 < snapshots) await store.compact();
  }
  await store.settled();
  const before = content(store);
  await store.close();
  return before;
}

/** What it holds, or why it is refused; and so it stays. */
async function opened(dir: string): Promise<string[] | string> {
  try {
    const store = await ObjectStore.open({ dir, waitsForDisk: false });
    const found = content(store);
    await store.close();
    return found;
  } catch (error) {
    expect(error).toBeInstanceOf(CadastreError);
    expect((error as CadastreError).remedy).toMatch(/restore the folder/);
    return (error as CadastreError).message;
  }
}

test('whatever is damaged, all that was acknowledged is there, or nothing is opened', async () => {
  const tally = { whole: 0, refused: 0 };
  const property = fc.asyncProperty(fc.noShrink(fc.nat()), async (seed) => {
    const chance = seededRandom(seed);
    const sound = join(root, `${seed}`);
    const before = await history(sound, chance, Math.floor(chance() * 4));
    for (const name of readdirSync(sound)) {
      for (const [what, change] of contentDamages) {
        const dir = join(root, 'damaged');
        rmSync(dir, { recursive: true, force: true });
        cpSync(sound, dir, { recursive: true });
        const path = join(dir, name);
        const changed = change(readFileSync(path), chance);
        if (changed === undefined) rmSync(path);
        else writeFileSync(path, changed);
        const says = `seed ${seed}: ${what} ${name}`;
        const found = await opened(dir);
        if (typeof found === 'string') expect(found, says).toMatch(/(snapshot|log)-\d+:? /);
        else expect(found, says).toEqual(before);
        expect(await opened(dir), `${says}, again`).toEqual(found);
        tally[typeof found === 'string' ? 'refused' : 'whole']++;
      }
    }
  });
  await fc.assert(property, { numRuns: runs(8) });
  expect(tally.whole).toBeGreaterThan(0);
  expect(tally.refused).toBeGreaterThan(0);
}, 120_000);

describe('a snapshot that is damaged', () => {
  const damages: [string, (path: string) => void, RegExp][] = [
    ['short', (path) => writeFileSync(path, readFileSync(path).subarray(0, 300)), /byte 300/],
    ['empty', (path) => writeFileSync(path, ''), /is empty/],
    [
      'changed',
      (path) =>
        writeFileSync(path, readFileSync(path, 'latin1').replace('"n":1', '"n":3'), 'latin1'),
      /byte \d+ \(line \d+\) cannot be read/,
    ],
  ];

  async function twoSnapshots(dir: string): Promise<string[]> {
    const store = await ObjectStore.open({ dir });
    for (const name of ['a', 'b', 'c']) {
      await put(store, name, 1).safe;
      if (name !== 'c') await store.compact();
    }
    const before = content(store);
    await store.close();
    return before;
  }

  test.each(damages)(
    '(%s) is replaced from the one before and the logs since',
    async (_, damage, place) => {
      const before = await twoSnapshots(root);
      damage(join(root, 'snapshot-2'));
      const told: string[] = [];
      const store = await ObjectStore.open({
        dir: root,
        onRepair: (message) => told.push(message),
      });
      expect(content(store)).toEqual(before);
      await store.close();
      expect(told.join()).toMatch(place);
      expect(told.join()).toMatch(
        /snapshot-2:? .*; the snapshot before it and the logs since hold the same/,
      );
      const names = readdirSync(root).join(' ');
      expect(names).toMatch(/snapshot-2\.damaged-\S+Z/);
      expect(names).toMatch(/snapshot-3( |$)/);
    },
  );

  test.each(damages)(
    '(%s) without them is refused, and nothing is changed',
    async (_, damage, place) => {
      await twoSnapshots(root);
      for (const name of ['log-0', 'log-1', 'snapshot-1'])
        rmSync(join(root, name), { force: true });
      damage(join(root, 'snapshot-2'));
      const names = readdirSync(root);
      await expect(ObjectStore.open({ dir: root })).rejects.toThrow(place);
      expect(readdirSync(root)).toEqual(names);
    },
  );

  test('(missing) without them is refused', async () => {
    await twoSnapshots(root);
    for (const name of ['log-0', 'log-1', 'snapshot-1', 'snapshot-2'])
      rmSync(join(root, name), { force: true });
    await expect(ObjectStore.open({ dir: root })).rejects.toThrow(/log-0 is missing/);
  });
});
