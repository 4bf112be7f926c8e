import type { DurableFile, DurableFiles } from '../../src/base/journal/durable-files.ts';

/** Files in memory, whose content a test can look at and change. */
export class MemoryFiles implements DurableFiles {
  readonly #files = new Map<string, Uint8Array>();

  paths(): string[] {
    return [...this.#files.keys()].sort();
  }

  copy(): MemoryFiles {
    const next = new MemoryFiles();
    for (const [path, content] of this.#files) next.#files.set(path, content.slice());
    return next;
  }

  put(path: string, content: Uint8Array): void {
    this.#files.set(path, content);
  }

  async read(path: string): Promise<Uint8Array | undefined> {
    return this.#files.get(path)?.slice();
  }

  async open(path: string): Promise<DurableFile> {
    if (!this.#files.has(path)) this.#files.set(path, new Uint8Array());
    // By its name: who renames it meanwhile goes on with the file.
    const inode = { content: this.#files.get(path)! };
    this.#inodes.set(path, inode);
    const set = (content: Uint8Array) => {
      inode.content = content;
      for (const [name, one] of this.#inodes) if (one === inode) this.#files.set(name, content);
    };
    return {
      write: async (bytes, position) => {
        const before = inode.content;
        if (position + bytes.length <= before.length) return void before.set(bytes, position);
        const grown = new Uint8Array(Math.max(before.length, position + bytes.length));
        grown.set(before);
        grown.set(bytes, position);
        set(grown);
      },
      truncate: async (length) => {
        const cut = new Uint8Array(length);
        cut.set(inode.content.subarray(0, length));
        set(cut);
      },
      sync: async () => undefined,
      close: async () => undefined,
    };
  }

  readonly #inodes = new Map<string, { content: Uint8Array }>();

  async rename(from: string, to: string): Promise<void> {
    this.#files.set(to, this.#files.get(from) ?? new Uint8Array());
    this.#files.delete(from);
    const inode = this.#inodes.get(from);
    this.#inodes.delete(from);
    if (inode === undefined) this.#inodes.delete(to);
    else this.#inodes.set(to, inode);
  }

  async remove(path: string): Promise<void> {
    this.#files.delete(path);
    this.#inodes.delete(path);
  }

  async syncDirectory(): Promise<void> {}
}
