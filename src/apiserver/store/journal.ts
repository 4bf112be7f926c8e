/**
 * The folder that outlives the process.
 *
 *   snapshot-N   every object as it was when log-N began, whole or not there at all
 *   log-N        every change since
 *
 * Starting reads the newest snapshot and then every log from that number on. When
 * the log has grown well past the objects themselves, a new log is begun, a
 * snapshot of that very moment is written beside the running server, and only
 * when it is safe on disk do the older files go. A crash at any point leaves
 * either the old set or the new one complete.
 */
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LogFile, readLog, sealed } from './log-file.ts';

export interface JournalOptions {
  dir: string;
  /** Every answer waits until its change is on disk. */
  waitsForDisk: boolean;
  /** A log smaller than this is never worth a snapshot. */
  compactAboveBytes: number;
}

export class Journal {
  readonly #options: JournalOptions;
  #log: LogFile;
  #number: number;
  #snapshotBytes: number;
  #compacting: Promise<void> | undefined;
  #onFailure: (error: unknown) => void = () => {};

  private constructor(
    options: JournalOptions,
    log: LogFile,
    number: number,
    snapshotBytes: number,
  ) {
    this.#options = options;
    this.#log = log;
    this.#number = number;
    this.#snapshotBytes = snapshotBytes;
  }

  /** Replays what is there: `onSnapshot` lines first, `onChange` lines after. */
  static async open(
    options: JournalOptions,
    replay: {
      onSnapshot: (json: string) => void;
      onSnapshotEnd: () => void;
      onChange: (json: string) => void;
    },
  ): Promise<Journal> {
    await mkdir(options.dir, { recursive: true, mode: 0o700 });
    const names = await readdir(options.dir);
    const numbers = (kind: string) =>
      names
        .map((name) => new RegExp(`^${kind}-(\\d+)$`).exec(name)?.[1])
        .filter((text) => text !== undefined)
        .map(Number)
        .sort((a, b) => a - b);
    const base = numbers('snapshot').at(-1) ?? 0;
    let snapshotBytes = 0;
    if (base > 0) {
      const path = join(options.dir, `snapshot-${base}`);
      snapshotBytes = await readLog(path, replay.onSnapshot);
    }
    replay.onSnapshotEnd();
    const logs = numbers('log').filter((number) => number >= base);
    let size = 0;
    for (const number of logs) {
      size = await readLog(join(options.dir, `log-${number}`), replay.onChange);
    }
    const last = logs.at(-1) ?? base;
    const log = await LogFile.open(join(options.dir, `log-${last}`), size, options.waitsForDisk);
    await syncFolder(options.dir);
    const journal = new Journal(options, log, last, snapshotBytes);
    await journal.#forgetBefore(base);
    return journal;
  }

  /** Called once, when a snapshot could not be written; the logs still hold everything. */
  onFailure(tell: (error: unknown) => void): void {
    this.#onFailure = tell;
  }

  append(json: string): Promise<void> {
    return this.#log.append(json);
  }

  get wantsSnapshot(): boolean {
    const { compactAboveBytes } = this.#options;
    const isLarge = this.#log.size > Math.max(compactAboveBytes, 4 * this.#snapshotBytes);
    return isLarge && this.#compacting === undefined;
  }

  /** `capture` is called in the moment the new log begins: its lines are the state before it. */
  compact(capture: () => string[]): Promise<void> {
    this.#compacting ??= this.#compact(capture)
      .catch((error) => this.#onFailure(error))
      .finally(() => {
        this.#compacting = undefined;
      });
    return this.#compacting;
  }

  async close(): Promise<void> {
    await this.#compacting;
    await this.#log.close();
  }

  async #compact(capture: () => string[]): Promise<void> {
    const { dir, waitsForDisk } = this.#options;
    const number = this.#number + 1;
    const next = await LogFile.open(join(dir, `log-${number}`), 0, waitsForDisk);
    await syncFolder(dir);
    const lines = capture();
    const drained = this.#log.close();
    // What follows must not be acknowledged before what it follows.
    next.startAfter(drained);
    [this.#log, this.#number] = [next, number];
    await drained;
    const path = join(dir, `snapshot-${number}`);
    this.#snapshotBytes = await writeSnapshot(`${path}.tmp`, lines);
    await rename(`${path}.tmp`, path);
    await syncFolder(dir);
    await this.#forgetBefore(number);
  }

  async #forgetBefore(number: number): Promise<void> {
    for (const name of await readdir(this.#options.dir)) {
      const match = /^(?:snapshot|log)-(\d+)(\.tmp)?$/.exec(name);
      if (match !== null && (Number(match[1]) < number || match[2] !== undefined)) {
        await rm(join(this.#options.dir, name), { force: true });
      }
    }
  }
}

async function writeSnapshot(path: string, lines: string[]): Promise<number> {
  const file = await open(path, 'w', 0o600);
  let size = 0;
  try {
    // In pieces, so that requests are answered in between.
    for (let at = 0; at < lines.length; at += 500) {
      const bytes = Buffer.from(
        lines
          .slice(at, at + 500)
          .map(sealed)
          .join(''),
      );
      await file.appendFile(bytes);
      size += bytes.byteLength;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return size;
}

/** After this the names in the folder survive a power cut. */
async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
