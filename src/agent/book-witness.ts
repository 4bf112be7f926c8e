/**
 * A file beside the journal of addresses which says that there is one, and in which boot of the
 * machine it was last opened. A journal that is missing although this file is there was lost; and
 * what a damaged journal gave before the machine was booted, nobody has any more.
 */
import { join } from 'node:path';
import type { BootClock } from '../base/boot-clock.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import { replaceFile } from '../base/journal/replace-file.ts';

export class BookWitness {
  readonly #files: DurableFiles;
  readonly #path: string;
  readonly #boot: string;

  constructor(files: DurableFiles, folder: string, boot: BootClock | undefined) {
    this.#files = files;
    this.#path = join(folder, 'addresses.opened');
    this.#boot = boot?.bootId ?? '';
  }

  async isThere(): Promise<boolean> {
    return (await this.#files.read(this.#path)) !== undefined;
  }

  /** Since the journal was last opened. One that cannot be read says nothing. */
  async wasBooted(): Promise<boolean> {
    const boot = await this.#read();
    return boot !== undefined && boot !== '' && this.#boot !== '' && boot !== this.#boot;
  }

  /** To be called when the journal is on disk. */
  async write(): Promise<void> {
    if ((await this.#read()) === this.#boot) return;
    await replaceFile(this.#files, this.#path, `${JSON.stringify({ boot: this.#boot })}\n`);
  }

  async #read(): Promise<string | undefined> {
    const bytes = await this.#files.read(this.#path);
    const text = Buffer.from(bytes ?? []).toString('utf8');
    return /^\{"boot":"([0-9A-Za-z_.-]*)"\}\n$/.exec(text)?.[1];
  }
}
