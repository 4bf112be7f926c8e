import { open } from 'node:fs/promises';

/** A file that somebody names is larger than it can sensibly be; or it has no end, as /dev/zero. */
export class FileTooLarge extends Error {
  constructor(mostOctets: number) {
    super(`it is larger than ${mostOctets >> 20} MiB`);
  }
}

/** All of a file, or of a pipe; refused above the limit without being read to its end. */
export async function readWholeFile(path: string, mostOctets: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const pieces: Buffer[] = [];
    let length = 0;
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(1 << 16));
      if (bytesRead === 0) return Buffer.concat(pieces, length);
      length += bytesRead;
      if (length > mostOctets) throw new FileTooLarge(mostOctets);
      pieces.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

export async function readTextFile(path: string, mostOctets: number): Promise<string> {
  return (await readWholeFile(path, mostOctets)).toString('utf8');
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
  EIO: 'the disk answered with an error (EIO)',
};

/** Why a file could not be read, in words, and without its path: the caller has said that. */
export function fileFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return words[code] ?? code;
}
