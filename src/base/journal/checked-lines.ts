/**
 * An append-only file of lines, each with its checksum.
 *
 * Writes are grouped: while the disk is busy with one group the next one
 * gathers, and all of it costs one sync. `append` resolves when the line would
 * survive a power cut, never before.
 *
 * Reading accepts a torn tail: what was being written when the power went was
 * never acknowledged. A bad line with good ones after it is another matter:
 * something that was acknowledged is damaged, and nothing is thrown away.
 */
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { CadastreError } from '../../base/errors.ts';

interface Waiting {
  line: string;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export class LogFile {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #waitsForDisk: boolean;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #failure: unknown;
  #earlier: Promise<void> = Promise.resolve();
  #size: number;

  private constructor(path: string, handle: FileHandle, size: number, waitsForDisk: boolean) {
    this.path = path;
    this.#handle = handle;
    this.#size = size;
    this.#waitsForDisk = waitsForDisk;
  }

  /** Opens for appending behind `size` bytes; what lies beyond is cut off. */
  static async open(path: string, size: number, waitsForDisk: boolean): Promise<LogFile> {
    const handle = await open(path, 'a+', 0o600);
    await handle.truncate(size);
    return new LogFile(path, handle, size, waitsForDisk);
  }

  get size(): number {
    return this.#size;
  }

  /** Nothing is written before `earlier` is done; if it fails, nothing ever is. */
  startAfter(earlier: Promise<void>): void {
    this.#earlier = earlier;
  }

  append(json: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line: sealed(json), resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** What is under way is written first; rejects if it could not be. */
  async close(): Promise<void> {
    await this.#flushing;
    await this.#handle.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #flush(): Promise<void> {
    // One turn of the loop, so that what arrives together is written together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#earlier;
        const bytes = Buffer.from(group.map(({ line }) => line).join(''));
        await this.#handle.appendFile(bytes);
        if (this.#waitsForDisk) await this.#handle.datasync();
        this.#size += bytes.byteLength;
        for (const { resolve } of group) resolve();
      } catch (cause) {
        // What reached the disk is unknown, so nothing may follow it.
        this.#failure = new CadastreError('STATE_NOT_WRITTEN', `cannot write ${this.path}`, {
          cause,
          remedy: 'free the disk and start again; what was acknowledged is kept',
        });
        for (const { reject } of [...group, ...this.#waiting.splice(0)]) reject(this.#failure);
      }
    }
    this.#flushing = undefined;
  }
}

export function sealed(json: string): string {
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`;
}

/** Hands over every sound line; returns how many bytes they take. */
export async function readLog(path: string, onLine: (json: string) => void): Promise<number> {
  const bytes = await readFile(path);
  let at = 0;
  let line = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(10, at);
    const text = end < 0 ? undefined : unsealed(bytes.toString('utf8', at, end));
    line += 1;
    if (text === undefined) {
      if (end >= 0 && hasSoundLine(bytes, end + 1)) throw damaged(path, line);
      return at;
    }
    onLine(text);
    at = end + 1;
  }
  return at;
}

function unsealed(line: string): string | undefined {
  if (line[8] !== ' ') return undefined;
  const json = line.slice(9);
  return crc32(json).toString(16).padStart(8, '0') === line.slice(0, 8) ? json : undefined;
}

function hasSoundLine(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    if (end < 0) return false;
    if (unsealed(bytes.toString('utf8', at, end)) !== undefined) return true;
    at = end + 1;
  }
  return false;
}

function damaged(path: string, line: number): CadastreError {
  return new CadastreError('STATE_DAMAGED', `${path}: line ${line} is damaged, and others follow`, {
    remedy: 'restore the folder from a copy, or start with an empty one',
  });
}
