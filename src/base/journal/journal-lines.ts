/**
 * How records lie in a journal file: lines that people can read, six numbers in eight hex digits
 * each and the record, in batches.
 *
 *   checksum previous sequence last start end {"a":"record"}
 *
 * - The checksum covers the rest of the line, so each line proves itself, wherever it lies.
 * - The checksum of the record before ties it to exactly the records it was written behind.
 * - Records are numbered, so that it is known how many are missing.
 * - `last` is the last number of the batch; `start` and `end` are its bytes in the file. A batch is
 *   written only when the one before is on disk: what is missing before a later batch was
 *   acknowledged, what is missing in the last one may not have been.
 * - A batch may be written twice, one copy behind the other: what is damaged in one is read from
 *   the other.
 *
 * No line has a zero byte, and a file always ends with zeros: one that does not was cut.
 */
import { crc32 } from 'node:zlib';

/** Of every line, before its record. */
export const headBytes = 54;
const newline = 10;

/** Where the next batch goes. */
export interface JournalEnd {
  /** Bytes of batches so far. */
  readonly length: number;
  /** Of the last record; 0 before the first. */
  readonly sequence: number;
  readonly checksum: number;
}

export const emptyJournal: JournalEnd = { length: 0, sequence: 0, checksum: 0 };

export interface JournalLine {
  readonly byte: number;
  readonly checksum: number;
  readonly previous: number;
  readonly sequence: number;
  readonly last: number;
  readonly start: number;
  readonly end: number;
  /** Where the record ends in the file. */
  readonly to: number;
}

export function encodeBatch(
  records: readonly string[],
  before: JournalEnd,
  copies: number,
): { bytes: Uint8Array; after: JournalEnd } {
  const sizes = records.map((record) => headBytes + Buffer.byteLength(record) + 1);
  const once = sizes.reduce((sum, size) => sum + size, 0);
  const start = before.length;
  const end = start + copies * once;
  const last = before.sequence + records.length;
  const bytes = Buffer.allocUnsafe(copies * once);
  let { checksum } = before;
  let at = 0;
  for (const [index, record] of records.entries()) {
    const numbers = [checksum, before.sequence + 1 + index, last, start, end];
    const to = at + (sizes[index] as number) - 1;
    bytes.write(` ${numbers.map(hex).join(' ')} ${record}\n`, at + 8);
    checksum = crc32(bytes.subarray(at + 9, to));
    bytes.write(hex(checksum), at);
    at = to + 1;
  }
  for (let copy = 1; copy < copies; copy++) bytes.copy(bytes, copy * once, 0, once);
  return { bytes, after: { length: end, sequence: last, checksum } };
}

/** The line without its line feed; undefined if it does not prove itself. */
export function decodeLine(content: Buffer, from: number, to: number): JournalLine | undefined {
  const head = content.toString('latin1', from, Math.min(to, from + headBytes));
  if (!/^(?:[0-9a-f]{8} ){6}$/.test(head)) return undefined;
  const checksum = crc32(content.subarray(from + 9, to));
  if (!head.startsWith(hex(checksum))) return undefined;
  const number = (index: number) => Number.parseInt(head.slice(9 * index, 9 * index + 8), 16);
  return {
    byte: from,
    checksum,
    previous: number(1),
    sequence: number(2),
    last: number(3),
    start: number(4),
    end: number(5),
    to,
  };
}

export function recordOf(content: Buffer, line: JournalLine): string {
  return content.toString('utf8', line.byte + headBytes, line.to);
}

/** Whether the bytes can be the beginning of the batch that follows, its first line unfinished. */
export function isBeginningOfBatch(bytes: Buffer, before: JournalEnd): boolean {
  if (bytes.includes(newline) || !isHeadOf(bytes, before)) return false;
  const end = endOfBatch(bytes, before);
  return end === undefined || end > before.length + bytes.length;
}

/** Where the batch that follows ends, by its own word; undefined if it has none. */
export function endOfBatch(bytes: Buffer, before: JournalEnd): number | undefined {
  if (bytes.length < headBytes || !isHeadOf(bytes, before)) return undefined;
  const end = Number.parseInt(bytes.toString('latin1', 45, 53), 16);
  return Number.isNaN(end) ? undefined : end;
}

/** As far as the bytes go. */
function isHeadOf(bytes: Buffer, { checksum, sequence, length }: JournalEnd): boolean {
  const text = bytes.toString('latin1', 0, headBytes);
  const isExpected = (index: number, value: number) =>
    hex(value).startsWith(text.slice(9 * index, 9 * index + 8));
  return isExpected(1, checksum) && isExpected(2, sequence + 1) && isExpected(4, length);
}

const hex = (value: number) => value.toString(16).padStart(8, '0');
