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
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { checkedLines } from '../../base/journal/checked-lines.ts';
import { type DurableFiles, realFiles, unsyncedFiles } from '../../base/journal/durable-files.ts';
import { GroupCommit } from '../../base/journal/group-commit.ts';
import {
  JournalFile,
  type JournalFileOptions,
  readJournalFile,
} from '../../base/journal/journal-file.ts';

interface StoreJournalOptions {
  dir: string;
  /** Every answer waits until its change is on disk. */
  waitsForDisk: boolean;
  /** A log smaller than this is never worth a snapshot. */
  compactAboveBytes: number;
}

/** A log that is written to. */
interface OpenLog {
  number: number;
  file: JournalFile;
  append(line: string): Promise<void>;
  /** What is under way is written first; rejects if it could not be. */
  close(): Promise<void>;
}

export class StoreJournal {
  readonly #options: StoreJournalOptions;
  readonly #files: DurableFiles;
  #log!: OpenLog;
  #snapshotBytes = 0;
  #compacting: Promise<void> | undefined;
  #onFailure: (error: unknown) => void = () => {};

  private constructor(options: StoreJournalOptions) {
    this.#options = options;
    this.#files = options.waitsForDisk ? realFiles : unsyncedFiles;
  }

  /** Replays what is there: `onSnapshot` lines first, `onChange` lines after. */
  static async open(
    options: StoreJournalOptions,
    replay: {
      onSnapshot: (json: string) => void;
      onSnapshotEnd: () => void;
      onChange: (json: string) => void;
    },
  ): Promise<StoreJournal> {
    await mkdir(options.dir, { recursive: true, mode: 0o700 });
    const journal = new StoreJournal(options);
    const names = await readdir(options.dir);
    const numbers = (kind: string) =>
      names
        .map((name) => new RegExp(`^${kind}-(\\d+)$`).exec(name)?.[1])
        .filter((text) => text !== undefined)
        .map(Number)
        .sort((a, b) => a - b);
    const base = numbers('snapshot').at(-1) ?? 0;
    const snapshot = await readJournalFile(journal.#at(`snapshot-${base}`), replay.onSnapshot);
    journal.#snapshotBytes = snapshot?.length ?? 0;
    replay.onSnapshotEnd();
    const logs = numbers('log').filter((number) => number >= base);
    const last = logs.pop() ?? base;
    for (const number of logs) await readJournalFile(journal.#at(`log-${number}`), replay.onChange);
    const at = journal.#at(`log-${last}`);
    const file = (await JournalFile.open(at, replay.onChange)) ?? (await JournalFile.create(at));
    journal.#log = openLog(last, file, at.path);
    await journal.#files.syncDirectory(options.dir);
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
    const isLarge = this.#log.file.length > Math.max(compactAboveBytes, 4 * this.#snapshotBytes);
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
    const { dir } = this.#options;
    const number = this.#log.number + 1;
    const at = this.#at(`log-${number}`);
    const next = await JournalFile.create(at);
    await this.#files.syncDirectory(dir);
    const lines = capture();
    const drained = this.#log.close();
    // What follows must not be acknowledged before what it follows.
    this.#log = openLog(number, next, at.path, drained);
    await drained;
    const path = join(dir, `snapshot-${number}`);
    this.#snapshotBytes = await this.#writeSnapshot(`${path}.tmp`, lines);
    await this.#files.rename(`${path}.tmp`, path);
    await this.#files.syncDirectory(dir);
    await this.#forgetBefore(number);
  }

  async #writeSnapshot(path: string, lines: string[]): Promise<number> {
    await this.#files.remove(path);
    const file = await this.#files.open(path);
    let size = 0;
    try {
      // In pieces, so that requests are answered in between.
      for (let at = 0; at < lines.length; at += 500) {
        const { bytes } = checkedLines.encode(lines.slice(at, at + 500), 0);
        await file.write(bytes, size);
        size += bytes.byteLength;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    return size;
  }

  async #forgetBefore(number: number): Promise<void> {
    for (const name of await readdir(this.#options.dir)) {
      const match = /^(?:snapshot|log)-(\d+)(\.tmp)?$/.exec(name);
      if (match !== null && (Number(match[1]) < number || match[2] !== undefined)) {
        await this.#files.remove(join(this.#options.dir, name));
      }
    }
  }

  #at(name: string): JournalFileOptions {
    const path = join(this.#options.dir, name);
    const remedy = 'restore the folder from a copy, or start with an empty one';
    return { files: this.#files, path, format: checkedLines, remedy };
  }
}

/** Nothing is written before `earlier` is done; after a failure nothing ever is. */
function openLog(
  number: number,
  file: JournalFile,
  path: string,
  earlier: Promise<void> = Promise.resolve(),
): OpenLog {
  let failure: Error | undefined;
  const commits = new GroupCommit({
    commit: async ({ records }) => {
      if (failure !== undefined) throw failure;
      await earlier;
      await file.append(records);
    },
    refusal: (cause) => {
      // What is in memory is ahead of the disk, so nothing may follow.
      failure ??= new CadastreError('STATE_NOT_WRITTEN', `cannot write ${path}`, {
        cause,
        remedy: 'free the disk and start again; what was acknowledged is kept',
      });
      return failure;
    },
  });
  return {
    number,
    file,
    append: (line) => commits.append(line),
    async close() {
      await commits.settled();
      await file.close();
      if (failure !== undefined) throw failure;
    },
  };
}
