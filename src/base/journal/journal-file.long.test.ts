import { describe, expect, test } from 'vitest';
import { CrashingFiles } from '../../../test/parts/crashing-files.ts';
import { seededRandom } from '../../../test/parts/seeded-random.ts';
import { describeDamage } from './decoded-journal.ts';
import { GroupCommit, maxBatchBytes } from './group-commit.ts';
import { JournalFile, readJournalFile } from './journal-file.ts';
import { oldCheckedLines } from './old-checked-lines.ts';

const path = '/state/journal';

async function open(files: CrashingFiles, copies: number) {
  const records: string[] = [];
  const options = { files, path, copies, oldFormat: oldCheckedLines };
  const read = await readJournalFile(options, (record) => records.push(record));
  expect(read?.damage && describeDamage(read.damage), 'a crash is no damage').toBeUndefined();
  const file = read ? await JournalFile.open(options, read) : await JournalFile.create(options);
  return { records, file };
}

function commitsTo(file: JournalFile): GroupCommit {
  return new GroupCommit({
    commit: ({ records }) => file.append(records),
    refusal: (cause) => new Error('refused', { cause }),
  });
}

describe.each([1, 2])('every batch written %i times', (copies) => {
  test('after a crash at any moment: all that was acknowledged, in order, and nothing that was refused', async () => {
    for (let seed = 1; seed <= 80; seed++) {
      const chance = seededRandom(seed);
      let files = new CrashingFiles();
      const first = await open(files, copies);
      await first.file.append(['{"n":0}']);
      await files.syncDirectory();
      let sure = ['{"n":0}'];
      let n = 0;
      for (let life = 0; life < 4; life++) {
        const { records, file } = await open(files, copies);
        // What was not answered before the crash may be there, too, in the order it was asked.
        expect(records.slice(0, sure.length), `seed ${seed}`).toEqual(sure);
        sure = records;
        const commits = commitsTo(file);
        const refused = new Set<string>();
        const acknowledged: string[] = [];
        if (chance() < 0.7) files.crashAfter(1 + Math.floor(chance() * 12));
        // After a failure four operations succeed, which is what removing it takes: what could not
        // even be removed may come back after a crash.
        const isFull = chance() < 0.6;
        let sound = 0;
        files.failing = () => {
          const fails = isFull && --sound < 0 && chance() < 0.3;
          if (fails) sound = 4;
          return fails;
        };
        for (let i = 0; i < 5 && !files.hasCrashed; i++) {
          const asked = Array.from({ length: 1 + Math.floor(chance() * 3) }, () => `{"n":${++n}}`);
          const answers = asked.map((record) =>
            commits.append(record).then(
              () => void acknowledged.push(record),
              () => void refused.add(record),
            ),
          );
          const crashed = new Promise<void>((resolve) => {
            const look = () => (files.hasCrashed ? resolve() : setImmediate(look));
            look();
          });
          await Promise.race([Promise.all(answers), crashed]);
        }
        sure = [...sure, ...acknowledged];
        files.failing = undefined;
        const isCut = !files.hasCrashed;
        files = files.restart(chance);
        if (!isCut) continue;
        const again = await open(files, copies);
        expect(again.records.filter((record) => refused.has(record))).toEqual([]);
      }
    }
  }, 60_000);

  test('a nearly full disk takes the record without the room behind it', async () => {
    const files = new CrashingFiles();
    const { file } = await open(files, copies);
    let writes = 0;
    files.failing = (operation) => operation === 'write' && writes++ === 0;
    await file.append(['{"a":1}']);
    await file.append(['{"b":2}']);
    expect((await open(files, copies)).records).toEqual(['{"a":1}', '{"b":2}']);
  });

  test('a full disk refuses, and what was there stays', async () => {
    const files = new CrashingFiles();
    const { file } = await open(files, copies);
    await file.append(['{"a":1}']);
    files.failing = (operation) => operation === 'write';
    await expect(file.append(['{"b":2}'])).rejects.toThrow('ENOSPC');
    files.failing = undefined;
    await file.append(['{"c":3}']);
    expect((await open(files, copies)).records).toEqual(['{"a":1}', '{"c":3}']);
  });
});

test('one batch is one sync, and has a bound', async () => {
  const batches: number[] = [];
  const commits = new GroupCommit({
    commit: async ({ records }) => void batches.push(records.length),
    refusal: () => new Error('refused'),
  });
  await Promise.all(Array.from({ length: 50 }, (_, i) => commits.append(`${i}`)));
  expect(batches).toEqual([50]);
  const large = 'x'.repeat(maxBatchBytes / 4);
  await Promise.all([large, large, large].map((record) => commits.append(record)));
  expect(batches).toEqual([50, 1, 1, 1]);
});

test('a refused batch takes everything behind it along, last first', async () => {
  const undone: string[] = [];
  let isFull = true;
  const commits = new GroupCommit({
    commit: async ({ records }) => {
      if (isFull) {
        commits.append('c', () => undone.push('c')).catch(() => undone.push('c heard'));
        throw new Error(records.join());
      }
    },
    refusal: (cause, count) => new Error(`${count} refused`, { cause }),
  });
  const a = commits.append('a', () => undone.push('a'));
  const b = commits.append('b', () => undone.push('b'));
  await expect(a).rejects.toThrow('3 refused');
  await expect(b).rejects.toThrow('3 refused');
  expect(undone).toEqual(['c', 'b', 'a', 'c heard']);
  isFull = false;
  await commits.append('d');
});
