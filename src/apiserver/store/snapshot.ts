/**
 * A file with every object at one moment. Its first record says at which version, its last one which
 * snapshot it is and how many records are before it: one that is short, empty or changed is told from one that is whole.
 */
import type { DurableFiles } from '../../base/journal/durable-files.ts';
import { damagedFile, damagedJournal, readJournalFile } from '../../base/journal/journal-file.ts';
import { emptyJournal, encodeBatch } from '../../base/journal/journal-lines.ts';
import { oldCheckedLines } from '../../base/journal/old-checked-lines.ts';

/** Its size in bytes. */
export async function writeSnapshot(
  files: DurableFiles,
  path: string,
  records: readonly string[],
  snapshot: number,
): Promise<number> {
  await files.remove(path);
  const file = await files.open(path);
  const all = [...records, lastRecord(snapshot, records.length)];
  let end = emptyJournal;
  try {
    // In pieces, so that requests are answered in between.
    for (let at = 0; at < all.length; at += 500) {
      const { bytes, after } = encodeBatch(all.slice(at, at + 500), end, 1);
      await file.write(bytes, end.length);
      end = after;
    }
    // As every journal does, it ends with a zero.
    await file.write(new Uint8Array(1), end.length);
    await file.sync();
  } finally {
    await file.close();
  }
  return end.length;
}

/** The whole of it, or an error that names the place. Version 0.1.0 wrote no last record. */
export async function readSnapshot(
  files: DurableFiles,
  path: string,
  snapshot: number,
  remedy: string,
): Promise<{ records: string[]; size: number }> {
  const records: string[] = [];
  const options = { files, path, oldFormat: oldCheckedLines };
  const read = await readJournalFile(options, (record) => records.push(record));
  if (read === undefined) throw damagedFile(path, 'is missing', remedy);
  if (read.damage !== undefined) throw damagedJournal(path, read, remedy);
  if (records.length === 0) throw damagedFile(path, 'is empty', remedy);
  const short = `ends at byte ${read.size}, after ${records.length} records; it was longer`;
  if (read.torn > 0) throw damagedFile(path, short, remedy);
  if (read.isOld !== true) {
    const last = records.pop();
    if (last !== lastRecord(snapshot, records.length)) throw damagedFile(path, short, remedy);
  }
  return { records, size: read.size };
}

const lastRecord = (snapshot: number, records: number) => JSON.stringify({ snapshot, records });
