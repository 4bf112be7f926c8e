/**
 * A lock that the kernel keeps on an open file (flock(2)). It holds across network and
 * mount namespaces, versions of Node and users, and is gone with its process however
 * that ends. The file says who holds it, for the refusal alone: a process number by
 * itself proves nothing, since numbers are used again and differ between containers.
 *
 * - The file is never deleted: whoever had opened it before would lock a file that nobody
 *   else can find.
 * - A plain descriptor, not a FileHandle: the garbage collector would close that, and with
 *   it give the lock back.
 * - Node opens files with O_CLOEXEC, so no child process keeps the lock.
 *
 * Node has no call for it; koffi has. Only Linux is supported; elsewhere nothing is
 * locked, and two processes on one file are the user's doing.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import { CadastreError, describeError } from './errors.ts';

export interface FileLock {
  release(): void;
}

/** What the holder writes into the file. */
interface Holder {
  pid: number;
  /** `pid:[4026531836]`: in which numbers the pid counts. */
  pidNamespace: string;
  host: string;
  command: string;
  since: string;
}

const LOCK_EX = 2;
const LOCK_NB = 4;
const EWOULDBLOCK = 11;

/** `subject` is what the lock protects, for the refusal; `remedy` what to do about it. */
export function lockFile(path: string, subject: string, remedy: string): FileLock {
  if (process.platform !== 'linux') return { release: () => undefined };
  const fd = open(path, subject);
  try {
    const errno = flock(fd);
    if (errno === EWOULDBLOCK) {
      throw new CadastreError('STATE_LOCKED', `${subject} is in use by ${holderOf(path)}`, {
        remedy,
      });
    }
    if (errno !== 0) {
      throw new CadastreError('KERNEL_REFUSED', `${path} cannot be locked: errno ${errno}`, {
        remedy: 'Use a folder of a local file system.',
      });
    }
    refuseForeign(fd, path, subject);
    writeHolder(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  let isHeld = true;
  return {
    release: () => {
      if (!isHeld) return;
      isHeld = false;
      closeSync(fd);
    },
  };
}

function open(path: string, subject: string): number {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
  try {
    return openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isForbidden = code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
    throw new CadastreError(
      'STATE_NOT_WRITTEN',
      `${subject} cannot be locked: ${describeError(cause)}`,
      {
        cause,
        remedy: isForbidden
          ? 'Run as the user that owns it, on a file system that can be written.'
          : 'Look at that path; it must be a plain file, or nothing.',
      },
    );
  }
}

let native: ((fd: number) => number) | undefined;

/** 0, or the errno. Never waits. */
function flock(fd: number): number {
  native ??= load();
  return native(fd);
}

function load(): (fd: number) => number {
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const call = koffi.load(null).func('int flock(int, int)');
    return (fd) => ((call(fd, LOCK_EX | LOCK_NB) as number) === 0 ? 0 : koffi.errno());
  } catch (cause) {
    throw new CadastreError(
      'KERNEL_UNAVAILABLE',
      'locking a folder needs the optional package koffi, which does not load',
      { cause, remedy: 'Install with optional dependencies: npm install --include=optional.' },
    );
  }
}

/** What the lock writes over must be a lock's: a holder, the bare number of earlier versions, or nothing. */
function refuseForeign(fd: number, path: string, subject: string): void {
  const start = Buffer.alloc(32);
  const isOurs =
    fstatSync(fd).isFile() &&
    /^(\{"pid":|\d*\s*$)/.test(start.toString('latin1', 0, readSync(fd, start, 0, 32, 0)));
  if (isOurs) return;
  throw new CadastreError(
    'STATE_NOT_WRITTEN',
    `${subject} cannot be locked: ${path} is no lock file`,
    {
      remedy: 'Look at that path; what is there is left as it is.',
    },
  );
}

function writeHolder(fd: number): void {
  const holder: Holder = {
    pid: process.pid,
    pidNamespace: pidNamespace(),
    host: hostname(),
    command: ['cadastre', ...process.argv.slice(2, 3).map((word) => basename(word))].join(' '),
    since: new Date().toISOString(),
  };
  try {
    // It was perhaps made by an earlier version, for everybody to open.
    fchmodSync(fd, 0o600);
    ftruncateSync(fd);
    writeSync(fd, `${JSON.stringify(holder)}\n`, 0);
  } catch {
    // For the message alone: a full disk is no reason not to start.
  }
}

/** `process 4711 (cadastre agent) on node1 since 2026-11-16T09:00:00Z`, as far as it is known. */
function holderOf(path: string): string {
  let holder: Partial<Holder>;
  try {
    holder = JSON.parse(readFileSync(path, 'utf8')) as Partial<Holder>;
  } catch {
    return 'another process, which left no word of itself';
  }
  const { pid, command, host, since } = holder ?? {};
  const isHere = holder?.pidNamespace === pidNamespace();
  const number = isHere ? `process ${pid}` : `process ${pid} of another PID namespace`;
  return `${number} (${command}) on ${host} since ${since}`;
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return 'unknown';
  }
}
