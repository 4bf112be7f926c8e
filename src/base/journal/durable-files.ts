import { constants, type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';

/**
 * The few things a journal asks of a disk. Passed in, so that tests can pull
 * the plug between any two of them.
 */
export interface DurableFiles {
  /** The whole content, or undefined if there is no such file. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** For writing; made empty if there is none, kept as it is if there is. */
  open(path: string): Promise<DurableFile>;
  rename(from: string, to: string): Promise<void>;
  /** No error if there is none. */
  remove(path: string): Promise<void>;
  /** After this the names in the folder survive a power cut. */
  syncDirectory(folder: string): Promise<void>;
}

export interface DurableFile {
  /** All of it, or an error, after which any part of it may be there. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  truncate(length: number): Promise<void>;
  /** After this the content survives a power cut. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export const realFiles: DurableFiles = {
  async read(path) {
    try {
      return await readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  },

  async open(path) {
    // 'a' would ignore positions on Linux, 'w' empties, 'r+' creates nothing.
    const made = await open(path, 'a', 0o600);
    await made.close();
    // O_DSYNC: a write returns when it is on disk. One call instead of two, for the record that
    // somebody waits for; the length is data to it, times are not, and need not be written.
    const handle = await open(path, constants.O_RDWR | constants.O_DSYNC);
    return realFile(handle);
  },

  rename: (from, to) => rename(from, to),
  remove: (path) => rm(path, { force: true }),

  async syncDirectory(folder) {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

/** An open file of Node as one of ours. */
function realFile(handle: FileHandle): DurableFile {
  let isUnsynced = false;
  return {
    async write(bytes, position) {
      let done = 0;
      while (done < bytes.byteLength) {
        const left = bytes.byteLength - done;
        const { bytesWritten } = await handle.write(bytes, done, left, position + done);
        done += bytesWritten;
      }
    },
    async truncate(length) {
      isUnsynced = true;
      await handle.truncate(length);
    },
    async sync() {
      if (!isUnsynced) return;
      await handle.datasync();
      isUnsynced = false;
    },
    close: () => handle.close(),
  };
}

/**
 * Files that do not wait for the disk. What is written survives the death of the
 * process, kill -9 included, but no power cut: for demos and tests, where hundreds
 * of writers on one laptop would wait for each other all day.
 */
export const unsyncedFiles: DurableFiles = {
  ...realFiles,
  async open(path) {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return { ...realFile(handle), sync: async () => {} };
  },
  syncDirectory: async () => {},
};
