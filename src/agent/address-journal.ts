/**
 * The journal of the address book: a file that is replaced by a snapshot of the
 * whole state when it has grown long.
 *
 *   append ─▶ group commit ─▶ journal file
 *                 │ too long
 *                 └────▶ snapshot to a temporary file, sync, rename, sync the folder
 *
 * Not to be "optimised" away: the sync of the folder after a rename; and that a
 * rename whose sync failed blocks every append until it succeeds, because a crash
 * would bring back the old file.
 */
import { dirname } from 'node:path';
import { CadastreError, describeError } from '../base/errors.ts';
import { chainedRecords } from '../base/journal/chained-records.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import { type Batch, GroupCommit } from '../base/journal/group-commit.ts';
import { JournalFile, type JournalFileOptions } from '../base/journal/journal-file.ts';
import { type Log, silentLog } from '../base/log.ts';

const compactAboveBytes = 4 * 1024 * 1024;

interface AddressJournalOptions {
  files: DurableFiles;
  path: string;
  /** The whole state as one record, everything appended so far included. */
  snapshot: () => object;
  compactAboveBytes?: number;
  log?: Log;
}

export class AddressJournal {
  readonly #o: AddressJournalOptions;
  readonly #log: Log;
  readonly #commits: GroupCommit;
  #file: JournalFile | undefined;
  /**
   * A rename was done that may not survive a crash, and what it brought was
   * refused: only a new snapshot makes file and memory agree again.
   */
  #mustRewrite = false;
  #compactAbove: number;

  constructor(options: AddressJournalOptions) {
    this.#o = options;
    this.#log = options.log ?? silentLog;
    this.#compactAbove = options.compactAboveBytes ?? compactAboveBytes;
    this.#commits = new GroupCommit({
      commit: (batch) => this.#commit(batch),
      refusal: (cause, count) => this.#refusal(cause, count),
    });
  }

  /** Opens the file and calls `replay` with every sound record, oldest first. */
  async open(replay: (record: unknown) => void): Promise<void> {
    const onRecord = (record: string) => replay(JSON.parse(record));
    this.#file = await JournalFile.open(this.#at(this.#o.path), onRecord);
    if (this.#file === undefined) await this.#rewrite();
    // The crash may have come between a rename and the sync of its folder.
    await this.#syncFolder();
  }

  /** Resolves when the record, and all before it, are on disk; see GroupCommit. */
  append(record: object | undefined, undo?: () => void): Promise<void> {
    return this.#commits.append(record && JSON.stringify(record), undo);
  }

  /** For what nobody waits for; see GroupCommit. */
  note(record: object, undo: () => void): void {
    this.#commits.note(JSON.stringify(record), undo);
  }

  async close(): Promise<void> {
    await this.#commits.settled();
    await this.#file?.close();
    this.#file = undefined;
  }

  async #commit(batch: Batch): Promise<void> {
    const file = this.#file;
    if (file === undefined) throw new Error('the journal is not open');
    const isDue = this.#mustRewrite || file.length > this.#compactAbove;
    if (isDue && (await this.#compact(batch))) return;
    if (batch.records.length > 0) await file.append(batch.records);
    else await file.settle();
  }

  /**
   * The snapshot holds what waits in the queue too, so a compaction commits all
   * of it. If it fails, nothing is lost: the old file goes on, a little longer.
   */
  async #compact(batch: Batch): Promise<boolean> {
    const { waiting } = batch;
    const length = this.#file?.length ?? 0;
    try {
      await this.#rewrite();
    } catch (error) {
      if (this.#mustRewrite) throw error;
      this.#compactAbove = length * 2;
      this.#log.warn({ error: describeError(error) }, 'could not compact the journal; it grows');
      return false;
    }
    batch.include(waiting);
    this.#mustRewrite = true;
    const { compactAboveBytes: asked = compactAboveBytes } = this.#o;
    this.#compactAbove = Math.max(asked, (this.#file?.length ?? 0) * 3);
    await this.#syncFolder();
    this.#mustRewrite = false;
    return true;
  }

  async #rewrite(): Promise<void> {
    const { files, path, snapshot } = this.#o;
    const record = JSON.stringify(snapshot());
    const temporary = `${path}.new`;
    const file = await JournalFile.create(this.#at(temporary));
    try {
      await file.append([record]);
      await files.rename(temporary, path);
    } catch (error) {
      await file.close();
      // It takes up room that may be what is missing; the next attempt empties it anyway.
      await files.remove(temporary).catch(() => undefined);
      throw error;
    }
    const old = this.#file;
    this.#file = file;
    await old?.close().catch(() => undefined);
  }

  #at(path: string): JournalFileOptions {
    const remedy =
      'drain the node, remove the file, and start again: the sweep takes over from there';
    return { files: this.#o.files, path, format: chainedRecords, remedy, log: this.#log };
  }

  #syncFolder(): Promise<void> {
    return this.#o.files.syncDirectory(dirname(this.#o.path));
  }

  #refusal(cause: unknown, refused: number): Error {
    const error = new CadastreError(
      'STATE_NOT_WRITTEN',
      `could not write to ${this.#o.path}; nothing was changed`,
      { cause, remedy: 'free space on that disk, or see what is wrong with it, and try again' },
    );
    this.#log.error({ error: describeError(error), refused }, error.message);
    return error;
  }
}
