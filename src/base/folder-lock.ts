import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { CadastreError } from './errors.ts';

/**
 * One writer for a state folder. The lock itself is a name in the kernel (an
 * abstract Unix socket named after the folder's inode): it is taken in one
 * step, and gone with its process, however that ends. A file with a process
 * number can do neither: a number is used again, and means nothing in another
 * container. The file is there too, for the message. Only Linux has such names;
 * elsewhere there is no lock, and two processes on one folder are the user's doing.
 */
export interface FolderLock {
  release(): Promise<void>;
}

/** `kind` is what the folder holds; two kinds of state may share one. */
export async function lockFolder(
  folder: string,
  kind: 'cadastre-state' | 'embedded-apiserver',
): Promise<FolderLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== 'linux') return { release: async () => undefined };
  const { dev, ino } = await stat(folder);
  const file = join(folder, 'lock');
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(`\0${kind}-${dev}-${ino}`, resolve);
  }).catch(async (cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EADDRINUSE') throw cause;
    const holder = (await readFile(file, 'utf8').catch(() => '')).trim();
    const who = holder === '' ? 'another process' : `process ${holder}`;
    throw new CadastreError('STATE_LOCKED', `${folder} is in use by ${who}`, {
      cause,
      remedy: 'stop that one first, or give each process its own folder',
    });
  });
  server.unref();
  // For the message alone: a full disk is no reason not to start.
  await writeFile(file, `${process.pid}\n`, { mode: 0o600 }).catch(() => undefined);
  return {
    release: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
