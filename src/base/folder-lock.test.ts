import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockFolder } from './folder-lock.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadastre-lock-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('one writer a folder; the second is told who the first is, and since when', async () => {
  const lock = await lockFolder(folder);
  const since = String(
    (JSON.parse(await readFile(join(folder, 'lock'), 'utf8')) as { since: string }).since,
  );
  await expect(lockFolder(folder)).rejects.toMatchObject({
    code: 'STATE_LOCKED',
    message: expect.stringMatching(
      new RegExp(`^${folder} is in use by process ${process.pid} \\(.*\\) on .* since ${since}$`),
    ),
  });
  lock.release();
  lock.release();
  (await lockFolder(folder)).release();
});

test('the file stays when the lock goes, and is for its owner alone', async () => {
  await writeFile(join(folder, 'lock'), '4711\n', { mode: 0o644 });
  const before = await stat(join(folder, 'lock'));
  (await lockFolder(folder)).release();
  const { ino, mode } = await stat(join(folder, 'lock'));
  expect(ino).toBe(before.ino);
  expect(mode & 0o777).toBe(0o600);
});

test('a holder of another PID namespace is named as one', async () => {
  const lock = await lockFolder(folder);
  const file = join(folder, 'lock');
  const holder = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ ...holder, pid: 7, pidNamespace: 'pid:[1]' }));
  await expect(lockFolder(folder)).rejects.toThrow('in use by process 7 of another PID namespace');
  await writeFile(file, 'half a rec');
  await expect(lockFolder(folder)).rejects.toThrow('in use by another process');
  lock.release();
});

test('a lock file that leads elsewhere is refused, not followed', async () => {
  await symlink('/etc/passwd', join(folder, 'lock'));
  await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'STATE_NOT_WRITTEN' });
});
