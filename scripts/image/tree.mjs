/**
 * A part of a root file system, as a list of entries: written as a tar that is the same
 * for the same content, or into a folder.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Paths are without a leading slash. A file's content is a path to read it from, or the bytes.
 * @typedef {{ kind: 'folder'; mode: number } | { kind: 'link'; target: string }
 *   | { kind: 'file'; mode: number; from: string | Buffer }} Entry
 */

export class Tree {
  /** @type {Map<string, Entry>} */
  #entries = new Map();

  /** @param {string} path */
  has(path) {
    return this.#entries.has(path);
  }

  /** With its parents. @param {string} path */
  folder(path, mode = 0o755) {
    const parent = dirname(path);
    if (parent !== '.' && !this.has(parent)) this.folder(parent);
    this.#entries.set(path, { kind: 'folder', mode });
  }

  /** @param {string} path @param {string | Buffer} from a path to read, or the bytes */
  file(path, from, mode = 0o644) {
    this.#parentOf(path);
    this.#entries.set(path, { kind: 'file', mode, from });
  }

  /** @param {string} path @param {string} target */
  link(path, target) {
    this.#parentOf(path);
    this.#entries.set(path, { kind: 'link', target });
  }

  /** All below a folder of this machine, as data; `keep` is asked with the path below it. */
  copy(
    /** @type {string} */ path,
    /** @type {string} */ from,
    keep = (/** @type {string} */ _) => true,
  ) {
    for (const name of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
      const source = join(from, name);
      if (!keep(name) || lstatSync(source).isDirectory()) continue;
      this.file(join(path, name), source);
    }
  }

  /** @param {string} path */
  #parentOf(path) {
    const parent = dirname(path);
    if (parent !== '.' && !this.has(parent)) this.folder(parent);
  }

  /** Sorted, so that a folder comes before what is in it. @returns {Array<[string, Entry]>} */
  entries() {
    return [...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Names, modes and content: equal for equal trees. */
  digest() {
    const hash = createHash('sha256');
    for (const [path, entry] of this.entries()) {
      const about = entry.kind === 'link' ? entry.target : entry.mode;
      hash.update(`${entry.kind}\0${path}\0${about}\0`);
      if (entry.kind === 'file') {
        hash.update(createHash('sha256').update(contentOf(entry.from)).digest());
      }
    }
    return hash.digest('hex');
  }

  /** @param {string} folder */
  writeTo(folder) {
    for (const [path, entry] of this.entries()) {
      const at = join(folder, path);
      if (entry.kind === 'link') symlinkSync(entry.target, at);
      else if (entry.kind === 'file') writeFileSync(at, contentOf(entry.from));
      else mkdirSync(at, { recursive: true });
      // The umask counts for what is made, and not here.
      if (entry.kind !== 'link') chmodSync(at, entry.mode);
    }
  }

  /** No times, no owner but root, no names of users. @returns {Buffer} */
  tar() {
    return tarOf(
      this.entries().map(([path, entry]) => {
        if (entry.kind === 'link') return { path, type: '2', mode: 0o777, target: entry.target };
        if (entry.kind === 'folder') return { path: `${path}/`, type: '5', mode: entry.mode };
        return { path, type: '0', mode: entry.mode, content: contentOf(entry.from) };
      }),
    );
  }
}

/** @param {string | Buffer} from */
function contentOf(from) {
  return typeof from === 'string' ? readFileSync(from) : from;
}

/**
 * POSIX.1-1988 (ustar): what every reader of layers knows.
 * @param {Array<{ path: string; type: string; mode: number; target?: string; content?: Buffer }>} entries
 */
export function tarOf(entries) {
  const pieces = [];
  for (const { path, type, mode, target = '', content = Buffer.alloc(0) } of entries) {
    const header = Buffer.alloc(512);
    const number = (/** @type {number} */ value, /** @type {number} */ at, digits = 7) =>
      header.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'latin1');
    const { prefix, name } = splitPath(path);
    header.write(name, 0);
    number(mode, 100);
    number(0, 108);
    number(0, 116);
    number(content.length, 124, 11);
    number(0, 136, 11);
    header.write(' '.repeat(8), 148, 'latin1');
    header.write(type, 156, 'latin1');
    header.write(target, 157);
    header.write('ustar\x0000', 257, 'latin1');
    header.write(prefix, 345);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    pieces.push(header, content, Buffer.alloc(-content.length & 511));
  }
  return Buffer.concat([...pieces, Buffer.alloc(1024)]);
}

/** 100 bytes for a name, 155 for the folders before it. @param {string} path */
function splitPath(path) {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path };
  const at = path.indexOf('/', path.length - 101);
  const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
  if (at < 0 || name === '' || Buffer.byteLength(prefix) > 155 || Buffer.byteLength(name) > 100) {
    throw new Error(`a tar cannot name ${path}`);
  }
  return { prefix, name };
}
