import { readFile, rename, writeFile } from 'node:fs/promises';

/** Undefined if there is no such file. */
export async function readJsonFile<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

/** Replaced whole: a crash leaves the old file or the new one. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  await writeFile(`${path}.next`, JSON.stringify(value));
  await rename(`${path}.next`, path);
}
