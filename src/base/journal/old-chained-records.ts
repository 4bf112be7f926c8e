import { crc32 } from 'node:zlib';
import { type DecodedJournal, endOfContent } from './decoded-journal.ts';
import type { OldFormat } from './journal-file.ts';
import { emptyJournal } from './journal-lines.ts';

/**
 * The agent's journal of version 0.1.0: length, checksum, JSON. The checksum goes on from the one
 * before, so what is behind a damaged record cannot be read.
 */
const header = Buffer.from('CADASTR1');
const headBytes = 8;

export const oldChainedRecords: OldFormat = {
  isOld: (content) => content.subarray(0, header.length).equals(header),

  decode(content, onRecord): DecodedJournal {
    const contentEnd = endOfContent(content, 0);
    let checksum = crc32(header);
    let at = header.length;
    while (at + headBytes <= content.length) {
      const end = at + headBytes + content.readUInt32BE(at);
      if (end === at + headBytes || end > content.length) break;
      const bytes = content.subarray(at + headBytes, end);
      const own = crc32(bytes, checksum);
      if (own !== content.readUInt32BE(at + 4)) break;
      onRecord(bytes.toString('utf8'));
      checksum = own;
      at = end;
    }
    const decoded = {
      end: emptyJournal,
      torn: Math.max(0, contentEnd - at),
      kept: [],
      isOld: true,
    };
    if (contentEnd <= at || isUnfinished(content.subarray(at, contentEnd), checksum))
      return decoded;
    const places = [{ byte: at, line: undefined, detail: 'cannot be read' }];
    return { ...decoded, damage: { places, lost: 0, isEndLost: true } };
  },
};

/** The beginning of one batch: its records are there up to one whose end is missing. */
function isUnfinished(rest: Buffer, checksum: number): boolean {
  if (rest.length < headBytes) return true;
  if (headBytes + rest.readUInt32BE(0) <= rest.length) return false;
  // A length that changed looks like an end that is missing.
  if (crc32(rest.subarray(headBytes), checksum) === rest.readUInt32BE(4)) return false;
  for (let at = 1; at + headBytes < rest.length; at++) {
    const end = at + headBytes + rest.readUInt32BE(at);
    if (end === at + headBytes || end + headBytes > rest.length) continue;
    const next = rest.subarray(end + headBytes, end + headBytes + rest.readUInt32BE(end));
    if (next.length > 0 && crc32(next, rest.readUInt32BE(at + 4)) === rest.readUInt32BE(end + 4))
      return false;
  }
  return true;
}
