/**
 * What a program or library of Linux asks the dynamic loader for. Read from the file
 * itself, because ldd runs only files of the machine's own architecture.
 */
import { readFileSync } from 'node:fs';

const segmentDynamic = 2;
const segmentInterpreter = 3;
const tagNeeded = 1n;
const tagStringTable = 5n;

/**
 * @param {string} path
 * @returns {{ needed: string[]; loader: string | undefined }} libraries by name; the loader by path
 */
export function readElf(path) {
  const file = readFileSync(path);
  // 64 bits, little-endian: both architectures that we build for.
  if (file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1) {
    throw new Error(`${path} is no 64-bit ELF file`);
  }
  const segments = readSegments(file);
  const interpreter = segments.find(({ type }) => type === segmentInterpreter);
  return {
    needed: readNeeded(file, segments),
    loader: interpreter && stringAt(file, interpreter.offset),
  };
}

/** @typedef {{ type: number; offset: number; address: bigint; size: number }} Segment */

/** @param {Buffer} file @returns {Segment[]} */
function readSegments(file) {
  const first = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  return Array.from({ length: file.readUInt16LE(56) }, (_, index) => {
    const at = first + index * size;
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: file.readBigUInt64LE(at + 16),
      size: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

/** @param {Buffer} file @param {Segment[]} segments */
function readNeeded(file, segments) {
  const dynamic = segments.find(({ type }) => type === segmentDynamic);
  if (dynamic === undefined) return [];
  /** @type {Array<[bigint, bigint]>} */
  const entries = [];
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    entries.push([file.readBigUInt64LE(at), file.readBigUInt64LE(at + 8)]);
  }
  const address = entries.find(([tag]) => tag === tagStringTable)?.[1] ?? 0n;
  // The table is named by its address in memory.
  const holder = segments.find(
    (one) => one.type === 1 && address >= one.address && address < one.address + BigInt(one.size),
  );
  if (holder === undefined) return [];
  const table = holder.offset + Number(address - holder.address);
  return entries
    .filter(([tag]) => tag === tagNeeded)
    .map(([, value]) => stringAt(file, table + Number(value)));
}

/** @param {Buffer} file @param {number} at */
function stringAt(file, at) {
  return file.toString('latin1', at, file.indexOf(0, at));
}
