/**
 * Network namespaces. A netlink socket stays in the namespace where it was
 * opened, and /proc/sys/net shows the namespace of the thread that opens a
 * file there. So a thread needs to be elsewhere only for the length of one
 * synchronous call: nothing that awaits may run inside `inNamespace`.
 */
import { closeSync, openSync, statfsSync, statSync } from 'node:fs';
import { CadastreError } from '../../base/errors.ts';
import { errnoName, KernelError } from '../kernel-error.ts';
import { nativeNetlink } from './native.ts';

const ownNamespacePath = '/proc/thread-self/ns/net';
const NSFS_MAGIC = 0x6e736673;

let ownFd: number | undefined;

/** Whether a network namespace can be opened there. */
export function namespaceExists(path: string): boolean {
  try {
    // A file that `ip netns add` made and whose mount is gone is an empty file, not a namespace.
    return statfsSync(path).type === NSFS_MAGIC;
  } catch {
    return false;
  }
}

/** Whether both paths lead to one namespace; undefined means where we are. */
export function isSameNamespace(path: string, other: string = ownNamespacePath): boolean {
  try {
    const [one, two] = [statSync(path), statSync(other)];
    return one.dev === two.dev && one.ino === two.ino;
  } catch {
    return false;
  }
}

export function openNamespace(path: string): number {
  if (!namespaceExists(path)) {
    throw new CadastreError('NAMESPACE_GONE', `there is no network namespace at ${path}`, {
      remedy: 'The pod may have ended; the runtime will ask again if it still wants it.',
    });
  }
  return openSync(path, 'r');
}

export function closeNamespace(fd: number): void {
  closeSync(fd);
}

/** Runs `work` with the calling thread inside the namespace; undefined means where we are. */
export function inNamespace<T>(fd: number | undefined, work: () => T): T {
  if (fd === undefined) return work();
  const native = nativeNetlink();
  ownFd ??= openSync(ownNamespacePath, 'r');
  const entered = native.enterNamespace(fd);
  if (entered !== 0) throw new KernelError('enter a network namespace', errnoName(entered));
  try {
    return work();
  } finally {
    const back = native.enterNamespace(ownFd);
    // A process that does not know where it is must not go on to change routes.
    if (back !== 0) process.abort();
  }
}
