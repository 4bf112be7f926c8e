/**
 * An append-only file of checksummed records. What `append` has resolved is read
 * again after any crash; what it has rejected is not.
 *
 * Not to be "optimised" away: after a failed write the file is cut back to its
 * sound length before anybody hears of it, and again before anything else is written.
 */
import { CadastreError, describeError } from '../errors.ts';
import { type Log, silentLog } from '../log.ts';
import type { DurableFile, DurableFiles } from './durable-files.ts';
import type { DecodedFile, RecordFormat } from './record-format.ts';

/**
 * The file is made longer by so much at a time, in zeros. A sync of what lies
 * inside the file writes data alone; one that makes it longer waits for the
 * file system's own journal, with everybody else on the disk: three times as
 * long, measured on ext4.
 */
const reserveBytes = 512 * 1024;

export interface JournalFileOptions {
  files: DurableFiles;
  path: string;
  format: RecordFormat;
  /** What to do about a damaged file. */
  remedy: string;
  log?: Log | undefined;
}

export class JournalFile {
  readonly #file: DurableFile;
  readonly #format: RecordFormat;
  readonly #log: Log;
  #length: number;
  /** The file's own length: zeros lie between. */
  #reserved: number;
  #checksum: number;
  /** Something else may lie behind the sound length. */
  #isUnclean = false;

  private constructor(
    file: DurableFile,
    { format, log = silentLog }: JournalFileOptions,
    state: { length: number; reserved: number; checksum: number },
  ) {
    this.#file = file;
    this.#format = format;
    this.#log = log;
    this.#length = state.length;
    this.#reserved = state.reserved;
    this.#checksum = state.checksum;
  }

  /** Calls back with every sound record, oldest first, and drops a torn end. Undefined: there is no such file. */
  static async open(
    options: JournalFileOptions,
    onRecord: (record: string) => void,
  ): Promise<JournalFile | undefined> {
    const { files, path, log } = options;
    const read = await readJournalFile(options, onRecord);
    if (read === undefined) return undefined;
    const { length, torn, checksum, size } = read;
    const file = await files.open(path);
    if (torn === 0) return new JournalFile(file, options, { length, reserved: size, checksum });
    log?.warn({ path, torn }, 'the last write was cut short by a crash; it is dropped');
    await file.truncate(length);
    await file.sync();
    return new JournalFile(file, options, { length, reserved: length, checksum });
  }

  /** An empty one; whatever was there is gone. */
  static async create(options: JournalFileOptions): Promise<JournalFile> {
    const { files, path, format } = options;
    const file = await files.open(path);
    await file.truncate(0).catch(async (error) => {
      await file.close();
      throw error;
    });
    const state = { length: 0, reserved: 0, checksum: format.firstChecksum };
    return new JournalFile(file, options, state);
  }

  /** Bytes of records. */
  get length(): number {
    return this.#length;
  }

  /** One at a time. Once it rejects, nothing of it will be read, as far as the disk lets itself be cut. */
  async append(records: readonly string[]): Promise<void> {
    const { bytes, checksum } = this.#format.encode(records, this.#checksum);
    const header = this.#length === 0 ? this.#format.header : new Uint8Array();
    const whole = header.byteLength === 0 ? bytes : Buffer.concat([header, bytes]);
    try {
      if (this.#isUnclean) await this.#cut();
      this.#isUnclean = true;
      await this.#write(whole);
      await this.#file.sync();
      this.#isUnclean = false;
    } catch (error) {
      await this.#cutBack();
      throw error;
    }
    this.#length += whole.byteLength;
    this.#checksum = checksum;
  }

  /** After it a refused record cannot come back by a crash: for answers given from memory alone. */
  async settle(): Promise<void> {
    if (this.#isUnclean) await this.#clean();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** With new room behind it if there is none left. */
  async #write(bytes: Uint8Array): Promise<void> {
    const end = this.#length + bytes.byteLength;
    if (end > this.#reserved) {
      const room = new Uint8Array(bytes.byteLength + reserveBytes);
      room.set(bytes);
      try {
        await this.#file.write(room, this.#length);
        this.#reserved = end + reserveBytes;
        return;
      } catch {
        // The disk is nearly full: there may still be room for what is really needed.
        await this.#cut();
      }
    }
    await this.#file.write(bytes, this.#length);
    this.#reserved = Math.max(this.#reserved, end);
  }

  async #cut(): Promise<void> {
    await this.#file.truncate(this.#length);
    this.#reserved = this.#length;
  }

  async #clean(): Promise<void> {
    await this.#cut();
    await this.#file.sync();
    this.#isUnclean = false;
  }

  async #cutBack(): Promise<void> {
    if (!this.#isUnclean) return;
    try {
      await this.#clean();
    } catch (error) {
      this.#log.warn({ error: describeError(error) }, 'could not cut the journal back yet');
    }
  }
}

/** Calls back with every sound record; undefined if there is no such file. Changes nothing. */
export async function readJournalFile(
  { files, path, format, remedy }: JournalFileOptions,
  onRecord: (record: string) => void,
): Promise<(DecodedFile & { size: number }) | undefined> {
  const content = await files.read(path);
  if (content === undefined) return undefined;
  const decoded = format.decode(content, onRecord);
  if (decoded.damage !== undefined) {
    throw new CadastreError('STATE_DAMAGED', `${path}: ${decoded.damage}`, { remedy });
  }
  return { ...decoded, size: content.byteLength };
}
