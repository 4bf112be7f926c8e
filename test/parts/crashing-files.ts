import type { DurableFile, DurableFiles } from '../../src/base/journal/durable-files.ts';

type Change = { write: Uint8Array; position: number } | { truncate: number };

interface Inode {
  /** What survives a crash for sure. */
  durable: Uint8Array;
  /** What may survive, whole, in part, or not, each by itself. */
  pending: Change[];
}

type NameChange = { from?: string; to?: string; inode?: Inode };

/** A number in [0, 1), the same for the same seed. */
export type Chance = () => number;

/**
 * A disk that can lose power between any two operations. Content that was not
 * synced then survives in any combination, the last write of it even in part;
 * names that were not synced survive up to some point, as a journaling file
 * system keeps their order.
 *
 * `failing` makes operations fail instead, as a full disk does: half of a
 * write lands before the error.
 */
export class CrashingFiles implements DurableFiles {
  #names = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  #pendingNames: NameChange[] = [];
  #left = Number.POSITIVE_INFINITY;
  /** All operations so far. */
  operations = 0;
  failing: ((operation: string) => boolean) | undefined;

  crashAfter(operations: number): void {
    this.#left = operations;
  }

  get hasCrashed(): boolean {
    return this.#left <= 0;
  }

  /** The same disk after the power is back. */
  restart(chance: Chance): CrashingFiles {
    const next = new CrashingFiles();
    const names = new Map(this.#durableNames);
    const survivors = Math.floor(chance() * (this.#pendingNames.length + 1));
    for (const change of this.#pendingNames.slice(0, survivors)) rename(names, change);
    const settled = new Map<Inode, Inode>();
    for (const [path, inode] of names) {
      if (!settled.has(inode)) settled.set(inode, settle(inode, chance));
      next.#names.set(path, settled.get(inode)!);
      next.#durableNames.set(path, settled.get(inode)!);
    }
    return next;
  }

  async read(path: string): Promise<Uint8Array | undefined> {
    const inode = this.#names.get(path);
    return inode === undefined ? undefined : content(inode);
  }

  async open(path: string): Promise<DurableFile> {
    await this.#step('open');
    let inode = this.#names.get(path);
    if (inode === undefined) {
      inode = { durable: new Uint8Array(), pending: [] };
      this.#rename({ to: path, inode });
    }
    const file = inode;
    return {
      write: async (bytes, position) => {
        await this.#step('write', () => {
          file.pending.push({ write: bytes.slice(0, bytes.length >>> 1), position });
        });
        file.pending.push({ write: bytes.slice(), position });
      },
      truncate: async (length) => {
        await this.#step('truncate');
        file.pending.push({ truncate: length });
      },
      sync: async () => {
        await this.#step('sync');
        file.durable = content(file);
        file.pending = [];
      },
      close: async () => undefined,
    };
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#step('rename');
    this.#rename({ from, to, inode: this.#names.get(from)! });
  }

  async remove(path: string): Promise<void> {
    await this.#step('remove');
    this.#rename({ from: path });
  }

  async syncDirectory(): Promise<void> {
    await this.#step('syncDirectory');
    this.#durableNames = new Map(this.#names);
    this.#pendingNames = [];
  }

  #rename(change: NameChange): void {
    rename(this.#names, change);
    this.#pendingNames.push(change);
  }

  /** Takes a moment, as a disk does. Without power nothing ever comes back. */
  async #step(operation: string, half?: () => void): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.operations++;
    if (this.hasCrashed) await new Promise(() => undefined);
    this.#left--;
    if (!this.failing?.(operation)) return;
    half?.();
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  }
}

function rename(names: Map<string, Inode>, { from, to, inode }: NameChange): void {
  if (from !== undefined) names.delete(from);
  if (to !== undefined && inode !== undefined) names.set(to, inode);
}

function content(inode: Inode): Uint8Array {
  return inode.pending.reduce(apply, inode.durable);
}

function apply(bytes: Uint8Array, change: Change): Uint8Array {
  if ('truncate' in change) {
    const cut = new Uint8Array(change.truncate);
    cut.set(bytes.subarray(0, change.truncate));
    return cut;
  }
  const grown = new Uint8Array(Math.max(bytes.length, change.position + change.write.length));
  grown.set(bytes);
  grown.set(change.write, change.position);
  return grown;
}

function settle(inode: Inode, chance: Chance): Inode {
  let durable = inode.durable;
  for (const change of inode.pending) {
    const luck = chance();
    if (luck < 0.3) continue;
    if ('write' in change && luck < 0.6) {
      const part = Math.floor(chance() * change.write.length);
      durable = apply(durable, { write: change.write.slice(0, part), position: change.position });
    } else durable = apply(durable, change);
  }
  return { durable, pending: [] };
}
