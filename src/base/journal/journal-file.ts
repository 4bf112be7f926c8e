/**
 * An append-only file of checksummed records. What `append` has resolved is read
 * again after any crash; what it has rejected is not.
 *
 * Not to be "optimised" away: room in zeros is on disk before a batch is written into it, so that a
 * file without zeros at its end was cut; and after a failed write zeros are written over it before
 * anybody hears of it, and again, synced, before anything else is written.
 */
import { describeError } from '../errors.ts';
import { type Log, silentLog } from '../log.ts';
import { decodeJournal } from './decode-journal.ts';
import type { DecodedJournal } from './decoded-journal.ts';
import type { DurableFile, DurableFiles } from './durable-files.ts';
import { emptyJournal, encodeBatch, headBytes, type JournalEnd } from './journal-lines.ts';

/**
 * The file is made longer by so much at a time, in zeros. A sync of what lies
 * inside the file writes data alone; one that makes it longer waits for the
 * file system's own journal, with everybody else on the disk: three times as
 * long, measured on ext4.
 */
const reserveBytes = 512 * 1024;

/** Written again and again: half a megabyte of zeros would stay with the process for long. */
const zeros = new Uint8Array(64 * 1024);

/** How an earlier version wrote; only read. */
export interface OldFormat {
  isOld(content: Buffer): boolean;
  decode(content: Buffer, onRecord: (record: string) => void): DecodedJournal;
}

export interface JournalFileOptions {
  files: DurableFiles;
  path: string;
  /** How often each batch is written: what is damaged in one copy is read from another. */
  copies?: number;
  oldFormat: OldFormat;
  log?: Log | undefined;
}

export class JournalFile {
  readonly #o: JournalFileOptions;
  readonly #file: DurableFile;
  readonly #log: Log;
  #end: JournalEnd;
  /** The file's own length: zeros lie between. */
  #reserved: number;
  /** Up to here something else than zeros may lie behind the records. */
  #uncleanTo = 0;

  private constructor(file: DurableFile, options: JournalFileOptions, read: ReadJournal) {
    this.#o = options;
    this.#file = file;
    this.#log = options.log ?? silentLog;
    this.#end = read.end;
    this.#reserved = read.size;
  }

  /** To append to what was read, and is not damaged; drops a batch that a crash cut short. */
  static async open(options: JournalFileOptions, read: ReadJournal): Promise<JournalFile> {
    const { files, path, log } = options;
    const file = await files.open(path);
    const journal = new JournalFile(file, options, read);
    if (read.torn === 0) return journal;
    log?.warn(
      { path, detail: { byte: read.end.length, torn: read.torn } },
      'the last write was cut short by a crash, before it was acknowledged; it is dropped',
    );
    try {
      journal.#uncleanTo = read.end.length + read.torn;
      await journal.settle();
      // Its first records are whole; they come again as a batch of their own.
      if (read.kept.length > 0) await journal.append(read.kept);
    } catch (error) {
      await file.close();
      throw error;
    }
    return journal;
  }

  /** An empty one; whatever was there is gone. */
  static async create(options: JournalFileOptions): Promise<JournalFile> {
    const { files, path } = options;
    const file = await files.open(path);
    await file.truncate(0).catch(async (error) => {
      await file.close();
      throw error;
    });
    return new JournalFile(file, options, { end: emptyJournal, torn: 0, kept: [], size: 0 });
  }

  /** Bytes of records. */
  get length(): number {
    return this.#end.length;
  }

  /** One at a time. Once it rejects, nothing of it will be read, as far as the disk lets itself be written. */
  async append(records: readonly string[]): Promise<void> {
    const { bytes, after } = encodeBatch(records, this.#end, this.#o.copies ?? 1);
    try {
      await this.settle();
      // One more, so that the file ends with a zero.
      await this.#reserve(after.length + 1);
      this.#uncleanTo = after.length;
      await this.#file.write(bytes, this.#end.length);
      await this.#file.sync();
      this.#uncleanTo = 0;
    } catch (error) {
      await this.settle().catch((again) => {
        const fields = { path: this.#o.path, error: describeError(again) };
        this.#log.warn(fields, 'could not remove a refused write from the journal yet');
      });
      throw error;
    }
    this.#end = after;
  }

  /** After it a refused record cannot come back by a crash: for answers given from memory alone. */
  async settle(): Promise<void> {
    const bytes = this.#uncleanTo - this.#end.length;
    if (this.#uncleanTo === 0 || bytes <= 0) return;
    // Its head last: after a crash in between it still says how far the write was to go.
    const head = Math.min(headBytes, bytes);
    if (bytes > head) {
      await this.#file.write(new Uint8Array(bytes - head), this.#end.length + head);
      await this.#file.sync();
    }
    await this.#file.write(new Uint8Array(head), this.#end.length);
    await this.#file.sync();
    this.#uncleanTo = 0;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #reserve(end: number): Promise<void> {
    if (end <= this.#reserved) return;
    try {
      await this.#reserveUpTo(end + reserveBytes);
    } catch {
      // The disk is nearly full: there may still be room for what is really needed.
      await this.#reserveUpTo(end);
    }
  }

  async #reserveUpTo(end: number): Promise<void> {
    try {
      for (let at = this.#reserved; at < end; at += zeros.byteLength) {
        await this.#file.write(zeros.subarray(0, end - at), at);
      }
      await this.#file.sync();
    } catch (error) {
      // The part of it that was written is somebody else's room.
      await this.#file.truncate(this.#reserved);
      throw error;
    }
    this.#reserved = end;
  }
}

export type ReadJournal = DecodedJournal & { readonly size: number };

/** Calls back with every record that can be read; undefined if there is no such file. Changes nothing. */
export async function readJournalFile(
  { files, path, oldFormat }: JournalFileOptions,
  onRecord: (record: string, sequence: number) => void,
): Promise<ReadJournal | undefined> {
  const bytes = await files.read(path);
  if (bytes === undefined) return undefined;
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let count = 0;
  const decoded = oldFormat.isOld(content)
    ? oldFormat.decode(content, (record) => onRecord(record, ++count))
    : decodeJournal(content, onRecord);
  return { ...decoded, size: content.byteLength };
}
