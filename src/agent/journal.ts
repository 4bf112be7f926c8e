/**
 * An append-only journal with group commit: whoever appends waits until the
 * record is on disk, and all who wait share one fsync. While one is under way,
 * the next batch gathers.
 *
 *   append ─▶ queue ─▶ batch ─▶ write, fdatasync ─▶ every waiter is told
 *   note   ─▶ queue, and with the next batch
 *                        │ too long
 *                        └────▶ snapshot to a temporary file, fsync, rename, fsync the folder
 *
 * Promises. A record whose append resolved is read again after any crash. When
 * a batch cannot be written, everything in it *and behind it* is undone, last
 * first, and refused: what was decided later may rest on what was refused. The
 * file is then cut back to its sound length before anything else is written.
 *
 * Not to be "optimised" away: the cut; the chained checksum; the sync of the
 * folder after a rename; and that a rename whose sync failed blocks every
 * append until it succeeds, because a crash would bring back the old file.
 */
import { dirname } from 'node:path';
import { CadastreError, describeError } from '../base/errors.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { DurableFile, DurableFiles } from './durable-files.ts';
import { decodeJournal, encodeRecord, firstChecksum, journalMagic } from './journal-record.ts';

/**
 * A crash leaves at most one batch unfinished. A longer unreadable end is no
 * torn write but a damaged file, and guessing would give addresses twice.
 */
const maxBatchBytes = 256 * 1024;

const compactAboveBytes = 4 * 1024 * 1024;

/**
 * The file is made longer by so much at a time, in zeros. A sync of what lies
 * inside the file writes data alone; one that makes it longer waits for the
 * file system's own journal, with everybody else on the disk: three times as
 * long, measured on ext4.
 */
const reserveBytes = 512 * 1024;

/** How long a note waits for company. */
const noteWithinMs = 200;

interface Waiter {
  /** Undefined for one who only waits for what is before it. */
  json: string | undefined;
  undo: (() => void) | undefined;
  resolve: () => void;
  reject: (error: Error) => void;
}

export interface JournalOptions {
  files: DurableFiles;
  path: string;
  /** The whole state as one record, everything appended so far included. */
  snapshot: () => object;
  compactAboveBytes?: number;
  log?: Log;
}

export class Journal {
  readonly #options: JournalOptions;
  readonly #log: Log;
  #file: DurableFile | undefined;
  #length = 0;
  #checksum = firstChecksum;
  /** The file's own length: zeros lie between. */
  #reserved = 0;
  /** Something else may lie behind the sound length. */
  #isUnclean = false;
  /**
   * A rename was done that may not survive a crash, and what it brought was
   * refused: only a new snapshot makes file and memory agree again.
   */
  #mustRewrite = false;
  #compactAbove: number;
  #queue: Waiter[] = [];
  #running: Promise<void> | undefined;
  #noteTimer: NodeJS.Timeout | undefined;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#compactAbove = options.compactAboveBytes ?? compactAboveBytes;
  }

  /** Opens the file and hands every sound record to `replay`, oldest first. */
  async open(replay: (record: unknown) => void): Promise<void> {
    const { files, path } = this.#options;
    const content = await files.read(path);
    if (content === undefined) {
      await this.#rewrite();
      await this.#syncFolder();
      return;
    }
    const { records, length, torn, checksum } = decodeJournal(content);
    if (length === 0 || torn > maxBatchBytes) {
      throw new CadastreError(
        'STATE_DAMAGED',
        `${path} is damaged at byte ${length}: ${torn} bytes behind it cannot be read`,
        {
          remedy:
            'drain the node, remove the file, and start again: the sweep takes over from there',
        },
      );
    }
    for (const record of records) replay(record);
    this.#file = await files.open(path);
    this.#length = length;
    this.#reserved = content.byteLength;
    this.#checksum = checksum;
    if (torn > 0) {
      this.#log.warn({ path, torn }, 'the last write was cut short by a crash; it is dropped');
      await this.#file.truncate(length);
      await this.#file.sync();
      this.#reserved = length;
    }
    // The crash may have come between a rename and the sync of its folder.
    await this.#syncFolder();
  }

  /**
   * Resolves when the record, and all before it, are on disk. Rejects after
   * `undo` was called; nothing of it is then on disk for good.
   */
  append(record: object | undefined, undo?: () => void): Promise<void> {
    const json = record === undefined ? undefined : JSON.stringify(record);
    return new Promise((resolve, reject) => {
      this.#queue.push({ json, undo, resolve, reject });
      this.#start();
    });
  }

  /**
   * For what nobody waits for, and what can be found out again if a crash loses
   * it: goes to disk with the next record, or after a moment. In order with all
   * others, and undone like them.
   */
  note(record: object, undo: () => void): void {
    const ignore = () => undefined;
    this.#queue.push({ json: JSON.stringify(record), undo, resolve: ignore, reject: ignore });
    if (this.#running !== undefined) return;
    this.#noteTimer ??= setTimeout(() => this.#start(), noteWithinMs).unref();
  }

  async close(): Promise<void> {
    if (this.#queue.length > 0) this.#start();
    await this.#running;
    await this.#file?.close();
    this.#file = undefined;
  }

  #start(): void {
    clearTimeout(this.#noteTimer);
    this.#noteTimer = undefined;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // One turn of the event loop: requests that arrived together are written together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      try {
        await this.#commit(batch);
        for (const waiter of batch) waiter.resolve();
      } catch (error) {
        await this.#cutBack();
        this.#refuse([...batch, ...this.#queue.splice(0)], error);
      }
    }
    this.#running = undefined;
  }

  #takeBatch(): Waiter[] {
    let bytes = 0;
    let count = 0;
    for (const { json } of this.#queue) {
      bytes += json === undefined ? 0 : 8 + 3 * json.length;
      if (count > 0 && bytes > maxBatchBytes) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  async #commit(batch: Waiter[]): Promise<void> {
    const isDue = this.#mustRewrite || this.#length > this.#compactAbove;
    if (isDue && (await this.#compact(batch))) return;
    const pieces: Uint8Array[] = [];
    let checksum = this.#checksum;
    for (const { json } of batch) {
      if (json === undefined) continue;
      const encoded = encodeRecord(json, checksum);
      pieces.push(encoded.bytes);
      checksum = encoded.checksum;
    }
    const file = this.#file;
    if (file === undefined) throw new Error('the journal is not open');
    if (pieces.length === 0) {
      // Who only waits is told what memory holds; a refused record must not come back after that.
      if (this.#isUnclean) await this.#clean(file);
      return;
    }
    const bytes = Buffer.concat(pieces);
    if (this.#isUnclean) await this.#cut(file);
    this.#isUnclean = true;
    await this.#write(file, bytes);
    await file.sync();
    this.#isUnclean = false;
    this.#length += bytes.byteLength;
    this.#checksum = checksum;
  }

  /** With new room behind it if there is none left. */
  async #write(file: DurableFile, bytes: Uint8Array): Promise<void> {
    const end = this.#length + bytes.byteLength;
    if (end > this.#reserved) {
      const room = new Uint8Array(bytes.byteLength + reserveBytes);
      room.set(bytes);
      try {
        await file.write(room, this.#length);
        this.#reserved = end + reserveBytes;
        return;
      } catch {
        // The disk is nearly full: there may still be room for what is really needed.
        await this.#cut(file);
      }
    }
    await file.write(bytes, this.#length);
    this.#reserved = Math.max(this.#reserved, end);
  }

  async #cut(file: DurableFile): Promise<void> {
    await file.truncate(this.#length);
    this.#reserved = this.#length;
  }

  /**
   * The snapshot holds what waits in the queue too, so a compaction commits all
   * of it. If it fails, nothing is lost: the old file goes on, a little longer.
   */
  async #compact(batch: Waiter[]): Promise<boolean> {
    const waiting = this.#queue.splice(0);
    try {
      await this.#rewrite();
    } catch (error) {
      this.#queue.unshift(...waiting);
      if (this.#mustRewrite) throw error;
      this.#compactAbove = this.#length * 2;
      this.#log.warn({ error: describeError(error) }, 'could not compact the journal; it grows');
      return false;
    }
    batch.push(...waiting);
    this.#mustRewrite = true;
    const { compactAboveBytes: asked = compactAboveBytes } = this.#options;
    this.#compactAbove = Math.max(asked, this.#length * 3);
    await this.#syncFolder();
    this.#mustRewrite = false;
    return true;
  }

  async #rewrite(): Promise<void> {
    const { files, path, snapshot } = this.#options;
    const { bytes, checksum } = encodeRecord(JSON.stringify(snapshot()), firstChecksum);
    const temporary = `${path}.new`;
    const file = await files.open(temporary);
    try {
      await file.truncate(0);
      await file.write(Buffer.concat([journalMagic, bytes]), 0);
      await file.sync();
      await files.rename(temporary, path);
    } catch (error) {
      await file.close();
      // It takes up room that may be what is missing; the next attempt empties it anyway.
      await files.remove(temporary).catch(() => undefined);
      throw error;
    }
    const old = this.#file;
    this.#file = file;
    this.#length = journalMagic.length + bytes.byteLength;
    this.#reserved = this.#length;
    this.#checksum = checksum;
    this.#isUnclean = false;
    await old?.close().catch(() => undefined);
  }

  #syncFolder(): Promise<void> {
    return this.#options.files.syncDirectory(dirname(this.#options.path));
  }

  /** Before anyone is told, so that a crash does not bring back what was refused. */
  async #cutBack(): Promise<void> {
    const file = this.#file;
    if (!this.#isUnclean || file === undefined) return;
    try {
      await this.#clean(file);
    } catch (error) {
      this.#log.warn({ error: describeError(error) }, 'could not cut the journal back yet');
    }
  }

  async #clean(file: DurableFile): Promise<void> {
    await this.#cut(file);
    await file.sync();
    this.#isUnclean = false;
  }

  #refuse(waiters: Waiter[], cause: unknown): void {
    for (const waiter of waiters.toReversed()) waiter.undo?.();
    const error = new CadastreError(
      'STATE_NOT_WRITTEN',
      `could not write to ${this.#options.path}; nothing was changed`,
      { cause, remedy: 'free space on that disk, or see what is wrong with it, and try again' },
    );
    this.#log.error({ error: describeError(error), refused: waiters.length }, error.message);
    for (const waiter of waiters) waiter.reject(error);
  }
}
