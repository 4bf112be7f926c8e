import { crc32 } from 'node:zlib';
import { endOfContent, maxBatchBytes, type RecordFormat } from './record-format.ts';

/**
 * Length, checksum, JSON. The checksum goes on from the one before, so a record is
 * only valid behind exactly the records it was written behind: what is left of an
 * older, refused write can never pass for one.
 */
const header = Buffer.from('CADASTR1');
const headBytes = 8;

export const chainedRecords: RecordFormat = {
  header,
  firstChecksum: crc32(header),

  encode(records, previous) {
    let checksum = previous;
    const pieces = records.map((record) => {
      const length = Buffer.byteLength(record);
      const bytes = Buffer.allocUnsafe(headBytes + length);
      bytes.write(record, headBytes);
      checksum = crc32(bytes.subarray(headBytes), checksum);
      bytes.writeUInt32BE(length, 0);
      bytes.writeUInt32BE(checksum, 4);
      return bytes;
    });
    return { bytes: Buffer.concat(pieces), checksum };
  },

  decode(content, onRecord) {
    const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    let checksum = chainedRecords.firstChecksum;
    if (!buffer.subarray(0, header.length).equals(header)) {
      const damage = 'it does not begin as a journal does';
      return { length: 0, torn: buffer.length, checksum, damage };
    }
    let at = header.length;
    while (at + headBytes <= buffer.length) {
      const end = at + headBytes + buffer.readUInt32BE(at);
      if (end === at + headBytes || end > buffer.length) break;
      const bytes = buffer.subarray(at + headBytes, end);
      const own = crc32(bytes, checksum);
      if (own !== buffer.readUInt32BE(at + 4)) break;
      onRecord(bytes.toString('utf8'));
      checksum = own;
      at = end;
    }
    const torn = endOfContent(buffer, at) - at;
    const damage = `damaged at byte ${at}: ${torn} bytes behind it cannot be read`;
    return { length: at, torn, checksum, ...(torn > maxBatchBytes ? { damage } : {}) };
  },
};
