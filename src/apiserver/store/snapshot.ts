/**
 * A file with every object at one moment. Its first record says at which version, its last one which
 * snapshot it is and how many records are before it: one that is short, empty or changed is told from one that is whole.
 */
import { CadastreError } from '../../base/errors.ts';
import { describeDamage } from '../../base/journal/decoded-journal.ts';
import type { DurableFiles } from '../../base/journal/durable-files.ts';
import { readJournalFile } from '../../base/journal/journal-file.ts';
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
): Promise<{ records: string[]; size: number }> {
  const records: string[] = [];
  const options = { files, path, oldFormat: oldCheckedLines };
  const read = await readJournalFile(options, (record) => records.push(record));
  if (read === undefined) throw damaged(path, 'is missing');
  if (read.damage !== undefined) throw damaged(`${path}:`, describeDamage(read.damage));
  if (records.length === 0) throw damaged(path, 'is empty');
  const short = `ends at byte ${read.size}, after ${records.length} records; it was longer`;
  if (read.torn > 0) throw damaged(path, short);
  if (read.isOld !== true) {
    const last = records.pop();
    if (last !== lastRecord(snapshot, records.length)) throw damaged(path, short);
  }
  return { records, size: read.size };
}

const lastRecord = (snapshot: number, records: number) => JSON.stringify({ snapshot, records });

const remedy =
  'restore the folder from a copy; or, if what is in it is not needed, move it away and start with an empty one';

/** The refusal of a folder of which a file is not as it was written. */
export function damaged(path: string, how: string): CadastreError {
  return new CadastreError('STATE_DAMAGED', `${path} ${how}`, { remedy });
}
