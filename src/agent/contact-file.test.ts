import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unsyncedFiles } from '../base/journal/durable-files.ts';
import { silentLog } from '../base/log.ts';
import { ContactFile } from './contact-file.ts';

let folder: string;
/** Of the machine; each run of the agent begins to count at another moment. */
let sinceBootMs: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cad-contact-'));
  sinceBootMs = 1_000_000;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(bootId: string) {
  const beganMs = sinceBootMs;
  const file = new ContactFile({
    files: unsyncedFiles,
    clock: { monotonicMs: () => sinceBootMs - beganMs, wallMs: () => 0 },
    boot: { bootId, sinceBootMs: () => sinceBootMs },
    log: silentLog,
    folder,
  });
  return { file, loaded: await file.load() };
}

test('another run of the same boot knows how long ago there was a session and a confirmation', async () => {
  const first = await run('a');
  expect(first.loaded).toBeUndefined();
  sinceBootMs += 10_000;
  await first.file.save({ upMs: 10_000, confirmedMs: 7_000 }, 1_000);
  sinceBootMs += 60_000;
  const second = await run('a');
  expect(second.loaded).toEqual({ upMs: -60_000, confirmedMs: -63_000 });
});

test('another boot knows nothing', async () => {
  const first = await run('a');
  await first.file.save({ upMs: 0, confirmedMs: 0 }, 1_000);
  expect((await run('b')).loaded).toBeUndefined();
});

test('the first session is on disk at once, and then not before it is news', async () => {
  const { file } = await run('a');
  await file.save({ confirmedMs: 0 }, 60_000);
  sinceBootMs += 5_000;
  await file.save({ upMs: 5_000, confirmedMs: 0 }, 60_000);
  sinceBootMs += 30_000;
  await file.save({ upMs: 35_000, confirmedMs: 0 }, 60_000);
  expect((await run('a')).loaded).toEqual({ upMs: -30_000, confirmedMs: -35_000 });
});
