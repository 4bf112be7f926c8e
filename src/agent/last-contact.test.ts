import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unsyncedFiles } from '../base/journal/durable-files.ts';
import { silentLog } from '../base/log.ts';
import { LastContact } from './last-contact.ts';

const limitMs = 150_000;
const none = undefined;
const up = Number.POSITIVE_INFINITY;
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
  const contact = new LastContact({
    files: unsyncedFiles,
    clock: { monotonicMs: () => sinceBootMs - beganMs, wallMs: () => 0 },
    boot: { bootId, sinceBootMs: () => sinceBootMs },
    log: silentLog,
    folder,
  });
  return { contact, loaded: await contact.load() };
}

test('another run of the same boot knows how long ago there was a session and a confirmation', async () => {
  const first = await run('a');
  expect(first.loaded).toBeUndefined();
  sinceBootMs += 10_000;
  first.contact.look(up, limitMs);
  first.contact.judged();
  await first.contact.save(7_000, 1_000);
  sinceBootMs += 60_000;
  const second = await run('a');
  expect(second.loaded).toEqual({ confirmedMs: -63_000 });
  expect(second.contact.look(none, limitMs)).toBe(-60_000);
});

test('another boot knows nothing', async () => {
  const first = await run('a');
  first.contact.look(up, limitMs);
  await first.contact.save(0, 1_000);
  const second = await run('b');
  expect(second.loaded).toBeUndefined();
  expect(second.contact.look(none, limitMs)).toBeUndefined();
});

test('the first session is on disk at once, and then not before it is news', async () => {
  const { contact } = await run('a');
  await contact.save(0, 60_000);
  sinceBootMs += 5_000;
  contact.look(up, limitMs);
  contact.judged();
  await contact.save(0, 60_000);
  sinceBootMs += 30_000;
  contact.look(up, limitMs);
  await contact.save(0, 60_000);
  const next = await run('a');
  expect(next.contact.look(none, limitMs)).toBe(-30_000);
});

test('a session that was lost for long and is back is noticed until it was judged', async () => {
  const { contact } = await run('a');
  contact.look(up, limitMs);
  contact.judged();
  sinceBootMs += 100_000;
  expect(contact.look(up, limitMs)).toBe(Number.POSITIVE_INFINITY);
  // A process that was frozen has not looked for as long: the same.
  sinceBootMs += 151_000;
  expect(contact.look(up, limitMs)).toBe(100_000);
  sinceBootMs += 1_000;
  expect(contact.look(up, limitMs)).toBe(100_000);
  await contact.save(undefined, 1_000);
  const next = await run('a');
  expect(next.contact.look(none, limitMs)).toBe(-152_000);
  contact.judged();
  expect(contact.look(up, limitMs)).toBe(Number.POSITIVE_INFINITY);
});
