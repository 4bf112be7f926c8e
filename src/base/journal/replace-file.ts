import { dirname } from 'node:path';
import type { DurableFiles } from './durable-files.ts';

/** A crash leaves the old content or the new one; once it returns, the new one survives a power cut. */
export async function replaceFile(files: DurableFiles, path: string, text: string): Promise<void> {
  const next = `${path}.next`;
  await files.remove(next);
  const file = await files.open(next);
  try {
    await file.write(Buffer.from(text), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(next, path);
  await files.syncDirectory(dirname(path));
}
