import { readFile, rename, writeFile } from 'node:fs/promises';
import { CadastreError } from '../base/errors.ts';

/** Undefined if there is no such file. */
export async function readJsonFile<T>(path: string): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new CadastreError('STATE_DAMAGED', `${path} is not JSON (${text.length} bytes)`, {
      cause,
      remedy: 'remove the data folder of the demo, and start anew',
    });
  }
}

/** Replaced whole: a crash leaves the old file or the new one. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  await writeFile(`${path}.next`, JSON.stringify(value));
  await rename(`${path}.next`, path);
}
