import { dirname } from 'node:path';
import type { DurableFiles } from './durable-files.ts';

/** A crash leaves the old content or the new one; once it returns, the new one survives a power cut. */
export async function replaceFile(files: DurableFiles, path: string, text: string): Promise<void> {
  const next = `${path}.next`;
  await writeWholeFile(files, next, Buffer.from(text));
  await files.rename(next, path);
  await files.syncDirectory(dirname(path));
}

/** Its content survives a power cut; its name only after the folder is synced. */
export async function writeWholeFile(
  files: DurableFiles,
  path: string,
  content: Uint8Array,
): Promise<void> {
  await files.remove(path);
  const file = await files.open(path);
  try {
    await file.write(content, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}
