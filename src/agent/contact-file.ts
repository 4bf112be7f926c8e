/**
 * What the next run of the agent has to know of this one: when there was last a session with a
 * router, and when the API server last confirmed the node's blocks. By the clock of the boot,
 * which no other clock can move; what another boot saw counts for nothing, because a machine may
 * be off for any time. Within a run RouterLoss and BlockConfirmation know it.
 */
import { join } from 'node:path';
import type { BootClock } from '../base/boot-clock.ts';
import type { Clock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import type { DurableFiles } from '../base/journal/durable-files.ts';
import { replaceFile } from '../base/journal/replace-file.ts';
import { sealText, unsealText } from '../base/journal/sealed-text.ts';
import type { Log } from '../base/log.ts';

interface ContactFileOptions {
  files: DurableFiles;
  clock: Clock;
  boot: BootClock;
  log: Log;
  folder: string;
}

/** In this process's monotonic time. */
export interface LastContact {
  readonly upMs?: number | undefined;
  readonly confirmedMs?: number | undefined;
}

/** Milliseconds since that boot. */
interface ContactText {
  boot: string;
  upMs?: number | undefined;
  confirmedMs?: number | undefined;
}

export class ContactFile {
  readonly #o: ContactFileOptions;
  readonly #path: string;
  /** What is on disk. */
  #saved: LastContact = {};

  constructor(options: ContactFileOptions) {
    this.#o = options;
    this.#path = join(options.folder, 'last-contact.json');
  }

  /** What an earlier run of this boot has left; undefined: the machine was booted since, or it is the first run. */
  async load(): Promise<LastContact | undefined> {
    const { files, boot, log } = this.#o;
    try {
      const bytes = await files.read(this.#path);
      if (bytes === undefined) return undefined;
      const unsealed = unsealText(bytes);
      if ('damage' in unsealed) throw new Error(`${this.#path} ${unsealed.damage}`);
      const read = JSON.parse(unsealed.text) as ContactText;
      if (read.boot !== boot.bootId || boot.bootId === '-') return undefined;
      const { upMs, confirmedMs } = read;
      return { upMs: plus(upMs, -this.#offsetMs), confirmedMs: plus(confirmedMs, -this.#offsetMs) };
    } catch (error) {
      const fields = { path: this.#path, error: describeError(error) };
      log.warn(
        fields,
        'the time of the last session with a router cannot be read from disk; the blocks are announced when they are confirmed',
      );
      return undefined;
    }
  }

  /** Not before it is news by so much: what is lost of it only makes the next run more careful. */
  async save(contact: LastContact, everyMs: number): Promise<void> {
    const { files, boot, log } = this.#o;
    const isNews = (next = Number.NEGATIVE_INFINITY, saved = Number.NEGATIVE_INFINITY) =>
      next - saved >= everyMs;
    const { upMs, confirmedMs } = contact;
    if (!isNews(upMs, this.#saved.upMs) && !isNews(confirmedMs, this.#saved.confirmedMs)) return;
    this.#saved = contact;
    const text: ContactText = {
      boot: boot.bootId,
      upMs: plus(upMs, this.#offsetMs),
      confirmedMs: plus(confirmedMs, this.#offsetMs),
    };
    try {
      await replaceFile(files, this.#path, sealText(JSON.stringify(text)));
    } catch (error) {
      log.warn(
        { error: describeError(error) },
        'the time of the last session with a router could not be written to disk',
      );
    }
  }

  get #offsetMs(): number {
    return this.#o.boot.sinceBootMs() - this.#o.clock.monotonicMs();
  }
}

const plus = (ms: number | undefined, offsetMs: number) =>
  ms === undefined ? undefined : ms + offsetMs;
