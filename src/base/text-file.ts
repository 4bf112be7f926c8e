import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** A configuration, a kubeconfig, a token: none has a hundredth of this. */
export const mostSettingsOctets = 16 << 20;
/** Objects of a whole cluster, the table of a router: what fits into one text of JavaScript. */
export const mostDataOctets = 500 << 20;
/** Of a device: /dev/null is an empty file to many, /dev/zero has no end. */
const mostDeviceOctets = 1 << 16;

/** All of a file, or of a pipe; refused above the limit without being read to its end. */
export function readWholeFile(path: string, mostOctets: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const found = fstatSync(file);
    const most = found.isCharacterDevice() ? mostDeviceOctets : mostOctets;
    if (found.size > most) throw tooLarge(most);
    const pieces: Buffer[] = [];
    let length = 0;
    for (;;) {
      const piece = Buffer.allocUnsafe(Math.max(found.size - length, 1 << 16));
      const count = readSync(file, piece);
      if (count === 0) return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length);
      length += count;
      if (length > most) throw tooLarge(most);
      pieces.push(piece.subarray(0, count));
    }
  } finally {
    closeSync(file);
  }
}

export function readTextFile(path: string, mostOctets = mostSettingsOctets): string {
  return readWholeFile(path, mostOctets).toString('utf8');
}

function tooLarge(most: number): Error {
  return new Error(`it has more than ${most.toLocaleString('en')} octets`);
}

const words: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied; run as a user who may read it',
  EPERM: 'permission denied; run as a user who may read it',
  ELOOP: 'symbolic links go round in a circle',
  ENAMETOOLONG: 'the path is too long',
  ENXIO: 'it is a socket, not a file',
  EIO: 'the disk, or what stands for it, failed',
  EINVAL: 'it cannot be read like a file',
  ENODEV: 'there is no such device',
};

/** Why a file could not be read, in words, and without its path: the caller has said that. */
export function fileFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return words[code] ?? `the system says ${code}`;
}
