import { crc32 } from 'node:zlib';
import { endOfContent, type RecordFormat } from './record-format.ts';

/**
 * A line of JSON behind its checksum, which people can read. A torn last line was
 * never acknowledged. A bad line with good ones behind it is damage: something
 * that was acknowledged cannot be read, and nothing may be thrown away.
 */
export const checkedLines: RecordFormat = {
  header: new Uint8Array(),
  firstChecksum: 0,

  encode: (records, checksum) => ({ bytes: Buffer.from(records.map(sealed).join('')), checksum }),

  decode(content, onRecord) {
    const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    let at = 0;
    for (let line = 1; at < buffer.length; line++) {
      const end = buffer.indexOf(10, at);
      const text = end < 0 ? undefined : unsealed(buffer.toString('utf8', at, end));
      if (text === undefined) {
        const torn = endOfContent(buffer, at) - at;
        const decoded = { length: at, torn, checksum: 0 };
        if (end < 0 || !hasSoundLine(buffer, end + 1)) return decoded;
        return { ...decoded, damage: `line ${line} is damaged, and others follow` };
      }
      onRecord(text);
      at = end + 1;
    }
    return { length: at, torn: 0, checksum: 0 };
  },
};

function sealed(json: string): string {
  return `${checksumOf(json)} ${json}\n`;
}

function unsealed(line: string): string | undefined {
  if (line[8] !== ' ') return undefined;
  const json = line.slice(9);
  return checksumOf(json) === line.slice(0, 8) ? json : undefined;
}

const checksumOf = (json: string) => crc32(json).toString(16).padStart(8, '0');

function hasSoundLine(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    if (end < 0) return false;
    if (unsealed(bytes.toString('utf8', at, end)) !== undefined) return true;
    at = end + 1;
  }
  return false;
}
