import { crc32 } from 'node:zlib';
import { type DamagedPlace, type DecodedJournal, endOfContent } from './decoded-journal.ts';
import type { OldFormat } from './journal-file.ts';
import { decodeLine, emptyJournal } from './journal-lines.ts';

/** The files of the embedded API server of version 0.1.0: a line of JSON behind its checksum. */
export const oldCheckedLines: OldFormat = {
  /** Some line of the file, because any one may be damaged. */
  isOld(content) {
    for (const { from, to } of linesOf(content)) {
      if (decodeLine(content, from, to) !== undefined) return false;
      if (unsealed(content.toString('utf8', from, to)) !== undefined) return true;
    }
    return false;
  },

  decode(content, onRecord): DecodedJournal {
    const contentEnd = endOfContent(content, 0);
    const places: DamagedPlace[] = [];
    let soundTo = 0;
    let line = 0;
    let isFollowed = false;
    for (const { from, to, isWhole } of linesOf(content)) {
      line++;
      const text = isWhole ? unsealed(content.toString('utf8', from, to)) : undefined;
      if (text === undefined) places.push({ byte: from, line, detail: 'cannot be read' });
      else {
        isFollowed ||= places.length > 0;
        if (!isFollowed) soundTo = to + 1;
        onRecord(text);
      }
    }
    const torn = contentEnd - soundTo;
    const decoded = { end: emptyJournal, torn: Math.max(0, torn), kept: [], isOld: true };
    const rest = content.subarray(soundTo, contentEnd);
    // A write that was cut short has no end, or zeros where it was not written.
    const isUnfinished = rest.at(-1) !== 10 || rest.includes(0);
    if (places.length === 0 || (!isFollowed && isUnfinished)) return decoded;
    const lost = places.length;
    return { ...decoded, damage: { places, lost, isEndLost: !isFollowed } };
  },
};

function* linesOf(content: Buffer): Iterable<{ from: number; to: number; isWhole: boolean }> {
  const contentEnd = endOfContent(content, 0);
  for (let from = 0; from < contentEnd; ) {
    const found = content.indexOf(10, from);
    const to = found < 0 ? contentEnd : found;
    yield { from, to, isWhole: found >= 0 };
    from = to + 1;
  }
}

function unsealed(line: string): string | undefined {
  if (line[8] !== ' ') return undefined;
  const json = line.slice(9);
  const checksum = crc32(json).toString(16).padStart(8, '0');
  // The checksum of a newer line, too, covers what is behind it.
  return checksum === line.slice(0, 8) && json.startsWith('{') ? json : undefined;
}
