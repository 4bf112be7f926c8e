/**
 * Reads a journal file, and tells a write that a crash cut short from damage.
 *
 * Cut short is only the last batch, and only if bytes of it are missing: zeros stand where they
 * were to be written, up to the end or in whole sectors, and nothing else follows. It was never
 * acknowledged. Everything else that cannot be read is damage: bytes that changed, a file that was
 * cut or mixed up. What can be read on both sides of it is read.
 */
import {
  type DamagedPlace,
  type DecodedJournal,
  endOfContent,
  type JournalDamage,
} from './decoded-journal.ts';
import {
  decodeLine,
  emptyJournal,
  endOfBatch,
  headBytes,
  isBeginningOfBatch,
  type JournalEnd,
  type JournalLine,
  recordOf,
} from './journal-lines.ts';

/** The smallest piece that a disk writes whole. */
const sectorBytes = 512;

/** Calls back with every record that can be read, oldest first, and its number. */
export function decodeJournal(
  bytes: Uint8Array,
  onRecord: (record: string, sequence: number) => void,
): DecodedJournal {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const contentEnd = endOfContent(content, 0);
  const { lines, unread, displaced } = readLines(content, contentEnd);
  const last = lastBatch(lines);
  const isBefore = ({ byte }: DamagedPlace) => byte < last.start;
  const before = chain(lines, emptyJournal, last.previousSequence, last.start);
  const tell = (line: JournalLine) => onRecord(recordOf(content, line), line.sequence);
  before.read.forEach(tell);
  const rest = chain(lines, before.end, last.sequence, last.end);
  const isCut = contentEnd > 0 && contentEnd === content.length;
  const isSoundBefore = before.lost === 0 && displaced.length === 0 && !unread.some(isBefore);
  if (isSoundBefore && !isCut) {
    const isRead = rest.lost === 0 && !unread.some(({ byte }) => byte < last.end);
    const isWhole = isRead && contentEnd >= last.end;
    if (isWhole && isFollowedByUnfinished(content, contentEnd, rest.end)) {
      rest.read.forEach(tell);
      return { end: rest.end, torn: Math.max(0, contentEnd - rest.end.length), kept: [] };
    }
    if (!isWhole && isUnfinished(content, contentEnd, last)) {
      const whole = rest.read.slice(0, rest.unbroken);
      whole.forEach(tell);
      const kept = whole.map((line) => recordOf(content, line));
      return { end: before.end, torn: contentEnd - before.end.length, kept };
    }
  }
  rest.read.forEach(tell);
  const places = [...unread, ...displaced].sort((a, b) => a.byte - b.byte);
  if (isCut) {
    places.unshift({ byte: contentEnd, line: undefined, detail: 'is where it ends: it was cut' });
  }
  const damage: JournalDamage = {
    places,
    lost: before.lost + rest.lost,
    isEndLost: isCut || contentEnd > last.end,
  };
  return { end: rest.end, torn: 0, kept: [], damage };
}

function readLines(content: Buffer, contentEnd: number) {
  const lines = new Map<number, JournalLine>();
  const unread: DamagedPlace[] = [];
  const displaced: DamagedPlace[] = [];
  for (let at = 0, number = 1; at < contentEnd; number++) {
    const found = content.indexOf(10, at);
    const to = found < 0 ? contentEnd : found;
    const line = found < 0 ? undefined : decodeLine(content, at, to);
    if (line === undefined) {
      unread.push({ byte: at, line: number, detail: 'cannot be read' });
    } else {
      const isInPlace = line.start <= at && at < line.end;
      if (!isInPlace) {
        displaced.push({ byte: at, line: number, detail: `belongs to byte ${line.start}` });
      }
      if (isInPlace || !lines.has(line.sequence)) lines.set(line.sequence, line);
    }
    at = to + 1;
  }
  return { lines, unread, displaced };
}

interface LastBatch {
  readonly start: number;
  readonly end: number;
  /** Of its last record, and of the last one before it. */
  readonly sequence: number;
  readonly previousSequence: number;
}

function lastBatch(lines: ReadonlyMap<number, JournalLine>): LastBatch {
  let last: JournalLine | undefined;
  for (const line of lines.values()) if (last === undefined || line.start > last.start) last = line;
  if (last === undefined) return { start: 0, end: 0, sequence: 0, previousSequence: 0 };
  let previousSequence = 0;
  for (const { start, last: sequence } of lines.values()) {
    if (start < last.start) previousSequence = Math.max(previousSequence, sequence);
  }
  return { start: last.start, end: last.end, sequence: last.last, previousSequence };
}

/** The lines up to that number, each behind the one it was written behind. */
function chain(
  lines: ReadonlyMap<number, JournalLine>,
  from: JournalEnd,
  upTo: number,
  length: number,
) {
  const read: JournalLine[] = [];
  let { checksum } = from;
  let lost = 0;
  let unbroken = 0;
  let isChained = true;
  for (let sequence = from.sequence + 1; sequence <= upTo; sequence++) {
    const line = lines.get(sequence);
    if (line === undefined || (isChained && line.previous !== checksum)) {
      lost++;
      isChained = false;
      continue;
    }
    isChained = true;
    checksum = line.checksum;
    read.push(line);
    if (lost === 0) unbroken++;
  }
  const end: JournalEnd = { length, sequence: Math.max(upTo, from.sequence), checksum };
  return { read, lost, unbroken, end };
}

/** Behind the last whole batch: nothing, or one of which no line was finished. */
function isFollowedByUnfinished(content: Buffer, contentEnd: number, end: JournalEnd): boolean {
  const bytes = content.subarray(end.length, Math.max(contentEnd, end.length));
  // No line is that short: a bit of the room that changed, or what is left of a refused write.
  if (longestText(bytes) <= headBytes) return true;
  if (isBeginningOfBatch(bytes, end)) return true;
  const saidEnd = endOfBatch(bytes, end);
  return saidEnd !== undefined && contentEnd <= saidEnd && hasHole(content, end.length, contentEnd);
}

/** Whether bytes of the last batch were never written, and nothing follows it. */
function isUnfinished(content: Buffer, contentEnd: number, { start, end }: LastBatch): boolean {
  return contentEnd < end || (contentEnd === end && hasHole(content, start, end));
}

/** Zeros at one of the places where a write, or its removal, may begin; or a whole sector of them. */
function hasHole(content: Buffer, from: number, to: number): boolean {
  if (content[from] === 0 || content[from + headBytes] === 0) return true;
  const sectors = Math.ceil(from / sectorBytes);
  for (let at = sectors * sectorBytes; at + sectorBytes <= to; at += sectorBytes) {
    if (content.subarray(at, at + sectorBytes).every((byte) => byte === 0)) return true;
  }
  return false;
}

function longestText(bytes: Buffer): number {
  let longest = 0;
  let length = 0;
  for (const byte of bytes) {
    length = byte === 0 ? 0 : length + 1;
    longest = Math.max(longest, length);
  }
  return longest;
}
