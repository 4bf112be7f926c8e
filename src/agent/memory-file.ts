import { createHash } from 'node:crypto';
import { describeError } from '../base/errors.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import { replaceFile } from '../base/journal/replace-file.ts';
import { sealText, unsealText } from '../base/journal/sealed-text.ts';
import type { Log } from '../base/log.ts';
import { type Memory, readMemory, writeMemory } from './knowledge.ts';

/**
 * What the agent last knew, on disk, replaced whole: a crash leaves the old file
 * or the new one. It may hold passwords of routers; the folder is root's alone.
 */
export class MemoryFile {
  readonly #files: DurableFiles;
  readonly #path: string;
  readonly #log: Log;
  /** Of what is on disk, the hash: in a large cluster the text is a megabyte. */
  #written = '';

  constructor(files: DurableFiles, path: string, log: Log) {
    this.#files = files;
    this.#path = path;
    this.#log = log;
  }

  /** A file that cannot be read is as good as none: the API server knows everything that is in it. */
  async load(): Promise<Memory | undefined> {
    try {
      const bytes = await this.#files.read(this.#path);
      if (bytes === undefined) return undefined;
      const read = unsealText(bytes);
      if ('damage' in read) return this.#ignored(`${this.#path} ${read.damage}`);
      const memory = readMemory(read.text);
      if (memory === undefined) return this.#ignored(`${this.#path} has another format`);
      // What has no checksum yet is written again.
      if (Buffer.from(bytes).toString('utf8') !== read.text) this.#written = hashOf(read.text);
      return memory;
    } catch (error) {
      return this.#ignored(describeError(error));
    }
  }

  #ignored(error: string): undefined {
    this.#log.warn(
      { path: this.#path, error },
      'the last known state cannot be read from disk; it is ignored, and the API server is waited for',
    );
  }

  /** Once it returns, it survives a power cut. Saying the same twice writes nothing. */
  async save(memory: Memory): Promise<void> {
    const text = writeMemory(memory);
    const hash = hashOf(text);
    if (hash === this.#written) return;
    await replaceFile(this.#files, this.#path, sealText(text));
    this.#written = hash;
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
