import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileLock, lockFile } from './file-lock.ts';

/** One writer for a state folder: the lock is on the file `lock` in it. */
export async function lockFolder(folder: string): Promise<FileLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const remedy = 'stop that one first, or give each process its own folder';
  return lockFile(join(folder, 'lock'), folder, remedy);
}
