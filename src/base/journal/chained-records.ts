import { crc32 } from 'node:zlib';

/**
 * A record on disk: length, checksum, JSON. The checksum goes on from the one
 * before, so a record is only valid behind exactly the records it was written
 * behind: what is left of an older, refused write can never pass for one.
 */
export const journalMagic = Buffer.from('CADASTR1');

const headerBytes = 8;

/** Where the chain of checksums begins. */
export const firstChecksum = crc32(journalMagic);

export interface EncodedRecord {
  bytes: Uint8Array;
  checksum: number;
}

export function encodeRecord(json: string, previous: number): EncodedRecord {
  const length = Buffer.byteLength(json);
  const bytes = Buffer.allocUnsafe(headerBytes + length);
  bytes.write(json, headerBytes);
  const checksum = crc32(bytes.subarray(headerBytes), previous);
  bytes.writeUInt32BE(length, 0);
  bytes.writeUInt32BE(checksum, 4);
  return { bytes, checksum };
}

export interface DecodedJournal {
  records: unknown[];
  /** Up to here the file is sound. */
  length: number;
  /** Bytes behind that are neither sound nor zeros, which is room that was reserved. */
  torn: number;
  checksum: number;
}

/** The sound beginning of a journal. */
export function decodeJournal(content: Uint8Array): DecodedJournal {
  const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const records: unknown[] = [];
  let checksum = firstChecksum;
  if (!buffer.subarray(0, journalMagic.length).equals(journalMagic)) {
    return { records, length: 0, torn: buffer.length, checksum };
  }
  let at = journalMagic.length;
  while (at + headerBytes <= buffer.length) {
    const end = at + headerBytes + buffer.readUInt32BE(at);
    if (end === at + headerBytes || end > buffer.length) break;
    const json = buffer.subarray(at + headerBytes, end);
    const own = crc32(json, checksum);
    if (own !== buffer.readUInt32BE(at + 4)) break;
    records.push(JSON.parse(json.toString('utf8')));
    checksum = own;
    at = end;
  }
  let last = buffer.length;
  while (last > at && buffer[last - 1] === 0) last--;
  return { records, length: at, torn: last - at, checksum };
}
