/**
 * The journal of the address book: a file that is replaced by a snapshot of the
 * whole state when it has grown long.
 *
 *   append ─▶ group commit ─▶ journal file
 *                 │ too long
 *                 └────▶ snapshot to a temporary file, sync, rename, sync the folder
 *
 * Every record is written twice, so a damaged one is read from its copy. A file that is
 * damaged is copied aside before a snapshot of what could be read replaces it.
 *
 * Not to be "optimised" away: the sync of the folder after a rename; and that a
 * rename whose sync failed blocks every append until it succeeds, because a crash
 * would bring back the old file.
 */
import { dirname } from 'node:path';
import { CadastreError, describeError } from '../base/errors.ts';
import { describeDamage } from '../base/journal/decoded-journal.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import { type Batch, GroupCommit } from '../base/journal/group-commit.ts';
import {
  JournalFile,
  type JournalFileOptions,
  type ReadJournal,
  readJournalFile,
} from '../base/journal/journal-file.ts';
import { oldChainedRecords } from '../base/journal/old-chained-records.ts';
import { writeWholeFile } from '../base/journal/replace-file.ts';
import { type Log, silentLog } from '../base/log.ts';

const compactAboveBytes = 4 * 1024 * 1024;

interface AddressJournalOptions {
  files: DurableFiles;
  path: string;
  /** The whole state as one record, everything appended so far included. */
  snapshot: () => object;
  /** For the name of a copy of a damaged file. */
  wallMs: () => number;
  compactAboveBytes?: number;
  log?: Log;
}

/** More than an unfinished last write is wrong with the file. */
export interface AddressJournalDamage {
  /** The place, as people read it. */
  readonly what: string;
  /** A copy of the damaged file. */
  readonly file: string;
  /** Records that are missing between others. */
  readonly lost: number;
  /** Any number may be missing behind the last one that was read. */
  readonly isEndLost: boolean;
}

/** What it has done since it was opened. */
export interface JournalCounts {
  records: number;
  compactions: number;
  /** Batches that were refused. */
  failures: number;
}

export class AddressJournal {
  readonly counts: JournalCounts = { records: 0, compactions: 0, failures: 0 };
  readonly #o: AddressJournalOptions;
  readonly #log: Log;
  readonly #commits: GroupCommit;
  #file: JournalFile | undefined;
  #read: ReadJournal | undefined;
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

  /** Calls `replay` with every record that can be read, oldest first; `begin` comes next. */
  async read(
    replay: (record: unknown, sequence: number) => void,
    wasThere: () => Promise<boolean>,
  ): Promise<AddressJournalDamage | undefined> {
    const { path } = this.#o;
    let count = 0;
    const read = await readJournalFile(this.#at(path), (record, sequence) => {
      count++;
      replay(JSON.parse(record), sequence);
    });
    this.#read = read;
    if (read === undefined) return (await wasThere()) ? this.#lostAll('is missing') : undefined;
    // A snapshot begins every file, and is on disk before the file has its name.
    if (count === 0 && read.damage === undefined) return this.#lostAll('is empty');
    if (read.damage === undefined) return undefined;
    const { lost, isEndLost } = read.damage;
    const file = await this.#copyAside();
    return { what: `${path}: ${describeDamage(read.damage)}`, file, lost, isEndLost };
  }

  /** From now on it is appended to. What was damaged, or of an earlier version, is written anew. */
  async begin(): Promise<void> {
    const read = this.#read;
    const isSound = read !== undefined && read.damage === undefined && read.end.length > 0;
    if (isSound) this.#file = await JournalFile.open(this.#at(this.#o.path), read);
    else await this.#rewrite();
    // The crash may have come between a rename and the sync of its folder.
    await this.#syncFolder();
  }

  /** Bytes of records in the file. */
  get length(): number {
    return this.#file?.length ?? 0;
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
    this.counts.records += batch.records.length;
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
    this.counts.compactions += 1;
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

  async #lostAll(how: string): Promise<AddressJournalDamage> {
    const file = await this.#copyAside();
    return { what: `${this.#o.path} ${how}`, file, lost: 0, isEndLost: true };
  }

  /** Never deleted by us: it is the evidence, and as long as it is there nothing is taken for granted. */
  async #copyAside(): Promise<string> {
    const { files, path, wallMs } = this.#o;
    const time = new Date(wallMs()).toISOString().replaceAll(':', '-');
    const copy = `${path}.damaged-${time}`;
    await writeWholeFile(files, copy, (await files.read(path)) ?? new Uint8Array());
    await this.#syncFolder();
    return copy;
  }

  #at(path: string): JournalFileOptions {
    const { files } = this.#o;
    return { files, path, copies: 2, oldFormat: oldChainedRecords, log: this.#log };
  }

  #syncFolder(): Promise<void> {
    return this.#o.files.syncDirectory(dirname(this.#o.path));
  }

  #refusal(cause: unknown, refused: number): Error {
    this.counts.failures += 1;
    const error = new CadastreError(
      'STATE_NOT_WRITTEN',
      `could not write to ${this.#o.path}; nothing was changed`,
      { cause, remedy: 'free space on that disk, or see what is wrong with it, and try again' },
    );
    this.#log.error({ error: describeError(error), count: refused }, error.message);
    return error;
  }
}
