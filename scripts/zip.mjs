/**
 * Reads a zip archive (PKWARE's APPNOTE, without zip64 and encryption) and makes the hash
 * that a go.sum has of a module's archive. Nothing but Node.
 */
import { createHash } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';

/** Signatures of the three records, APPNOTE 4.3.7, 4.3.12 and 4.3.16. */
const localHeader = 0x04034b50;
const centralHeader = 0x02014b50;
const endOfDirectory = 0x06054b50;

/**
 * The files of an archive. `content` unpacks: ask once.
 * @param {Buffer} archive
 * @returns {import('./zip.mjs').ZipFile[]}
 */
export function readZip(archive) {
  const end = findEnd(archive);
  const count = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  if (count === 0xffff || at === 0xffffffff) throw new Error('a zip64 archive cannot be read');
  /** @type {import('./zip.mjs').ZipFile[]} */
  const files = [];
  for (let i = 0; i < count; i++) {
    if (archive.readUInt32LE(at) !== centralHeader) throw new Error('the zip archive is damaged');
    const method = archive.readUInt16LE(at + 10);
    const packedSize = archive.readUInt32LE(at + 20);
    const nameSize = archive.readUInt16LE(at + 28);
    const moreSize = archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
    const start = archive.readUInt32LE(at + 42);
    const name = archive.toString('utf8', at + 46, at + 46 + nameSize);
    if (!name.endsWith('/')) {
      files.push({ name, content: () => unpack(archive, start, packedSize, method, name) });
    }
    at += 46 + nameSize + moreSize;
  }
  return files;
}

/** The record at the very end; a comment of at most 65,535 bytes may follow it. @param {Buffer} archive */
function findEnd(archive) {
  for (let at = archive.length - 22; at >= Math.max(0, archive.length - 65_557); at--) {
    if (archive.readUInt32LE(at) === endOfDirectory) return at;
  }
  throw new Error('this is no zip archive, or only a part of one');
}

/**
 * @param {Buffer} archive
 * @param {number} start
 * @param {number} size
 * @param {number} method
 * @param {string} name
 */
function unpack(archive, start, size, method, name) {
  if (archive.readUInt32LE(start) !== localHeader) throw new Error(`${name} in the zip is damaged`);
  // The local header may have other extra fields than the directory.
  const data = start + 30 + archive.readUInt16LE(start + 26) + archive.readUInt16LE(start + 28);
  const packed = archive.subarray(data, data + size);
  if (method === 0) return packed;
  if (method === 8) return inflateRawSync(packed);
  throw new Error(`${name} in the zip is packed by method ${method}, which is not known`);
}

/**
 * The hash that go.sum and the checksum database have: of one line for each file, sorted by
 * name, as sha256sum prints it.
 * @param {{ name: string; content: () => Uint8Array }[]} files
 */
export function goSum(files) {
  const hash = createHash('sha256');
  for (const file of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    hash.update(`${createHash('sha256').update(file.content()).digest('hex')}  ${file.name}\n`);
  }
  return `h1:${hash.digest('base64')}`;
}
