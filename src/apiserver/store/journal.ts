/**
 * The folder that outlives the process.
 *
 *   snapshot-N   every object as it was when log-N began, whole or not there at all
 *   log-N        every change since
 *   newest.json  the number of the newest log
 *
 * Starting reads the newest snapshot and then every log from that number on. When
 * the log has grown well past the objects themselves, a new log is begun, a
 * snapshot of that very moment is written beside the running server, and only
 * when it is safe on disk do files go: those that the snapshot before it does not need either.
 * A crash at any point leaves either the old set or the new one complete. If the newest
 * snapshot is damaged, the one before it and the logs since hold the same; if they do not
 * hold all of it, nothing is opened.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { describeDamage } from '../../base/journal/decoded-journal.ts';
import { type DurableFiles, realFiles, unsyncedFiles } from '../../base/journal/durable-files.ts';
import { GroupCommit } from '../../base/journal/group-commit.ts';
import {
  JournalFile,
  type JournalFileOptions,
  readJournalFile,
} from '../../base/journal/journal-file.ts';
import { oldCheckedLines } from '../../base/journal/old-checked-lines.ts';
import { replaceFile } from '../../base/journal/replace-file.ts';
import { damaged, readSnapshot, writeSnapshot } from './snapshot.ts';

interface StoreJournalOptions {
  dir: string;
  /** Every answer waits until its change is on disk. */
  waitsForDisk: boolean;
  /** A log smaller than this is never worth a snapshot. */
  compactAboveBytes: number;
  /** A damaged file was read around, and nothing is lost. */
  onRepair?: (message: string) => void;
  /** For the name of a damaged file. */
  wallMs?: () => number;
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
  /** The number of the newest snapshot; 0: there is none. */
  #base = 0;
  #snapshotBytes = 0;
  #mustCompact = false;
  #compacting: Promise<void> | undefined;
  #onFailure: (error: unknown) => void = () => {};

  private constructor(options: StoreJournalOptions) {
    this.#options = options;
    this.#files = options.waitsForDisk ? realFiles : unsyncedFiles;
  }

  /**
   * Replays what is there: `onSnapshot` lines first, `onChange` lines after, which answers what is
   * wrong with a line, if something is.
   */
  static async open(
    options: StoreJournalOptions,
    replay: {
      onSnapshot: (json: string) => void;
      onSnapshotEnd: () => void;
      onChange: (json: string) => string | undefined;
    },
  ): Promise<StoreJournal> {
    await mkdir(options.dir, { recursive: true, mode: 0o700 });
    const journal = new StoreJournal(options);
    const names = await readdir(options.dir);
    const snapshots = numbersOf(names, 'snapshot');
    const logs = numbersOf(names, 'log');
    const last = await journal.#lastLog(snapshots, logs);
    const repair = await journal.#readBase(snapshots, logs, last, replay.onSnapshot);
    replay.onSnapshotEnd();
    for (let number = journal.#base; number <= last; number++) {
      await journal.#readLog(number, last, replay.onChange);
    }
    if (repair !== undefined) await journal.#repaired(repair);
    await journal.#files.syncDirectory(options.dir);
    await journal.#forgetBefore(snapshots.filter((number) => number < journal.#base).at(-1) ?? 0);
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
    return (isLarge || this.#mustCompact) && this.#compacting === undefined;
  }

  /**
   * `capture` is called in the moment the new log begins: its lines are the state before it, and
   * the first of them begins the log, too.
   */
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

  /** The number of the newest log that there must be. */
  async #lastLog(snapshots: readonly number[], logs: readonly number[]): Promise<number> {
    const found = logs.at(-1);
    const said = await this.#newestSaid();
    const least = Math.max(said ?? 0, snapshots.at(-1) ?? 0);
    const isNew = said === undefined && snapshots.length === 0 && found === undefined;
    if (isNew) return 0;
    if (found !== undefined && found >= least) return found;
    throw damaged(join(this.#options.dir, `log-${least}`), 'is missing');
  }

  /** The newest snapshot that is whole, and has every log behind it. */
  async #readBase(
    snapshots: readonly number[],
    logs: readonly number[],
    last: number,
    onSnapshot: (json: string) => void,
  ): Promise<{ names: string[]; message: string } | undefined> {
    const { dir } = this.#options;
    let failure: CadastreError | undefined;
    const names: string[] = [];
    for (const number of new Set([0, ...snapshots].toReversed())) {
      const missing = range(number, last).find((one) => !logs.includes(one));
      if (missing !== undefined && logs.length > 0) {
        failure ??= damaged(join(dir, `log-${missing}`), 'is missing');
        continue;
      }
      try {
        if (number > 0) {
          const path = join(dir, `snapshot-${number}`);
          const { records, size } = await readSnapshot(this.#files, path, number);
          for (const record of records) onSnapshot(record);
          this.#snapshotBytes = size;
        }
      } catch (error) {
        if (!(error instanceof CadastreError)) throw error;
        failure ??= error;
        names.push(`snapshot-${number}`);
        continue;
      }
      this.#base = number;
      return failure && { names, message: failure.message };
    }
    throw failure;
  }

  /** Another snapshot is written; the damaged one stays, under another name. */
  async #repaired({ names, message }: { names: string[]; message: string }): Promise<void> {
    const { dir, onRepair, wallMs = Date.now } = this.#options;
    const time = new Date(wallMs()).toISOString().replaceAll(':', '-');
    for (const name of names) {
      await this.#files.rename(join(dir, name), join(dir, `${name}.damaged-${time}`));
    }
    this.#mustCompact = true;
    onRepair?.(`${message}; the snapshot before it and the logs since hold the same`);
  }

  async #readLog(
    number: number,
    last: number,
    onChange: (json: string) => string | undefined,
  ): Promise<void> {
    const at = this.#at(`log-${number}`);
    const heading = headingOf(number);
    const records: string[] = [];
    const read = await readJournalFile(at, (json) => records.push(json));
    if (read?.damage !== undefined) throw damaged(`${at.path}:`, describeDamage(read.damage));
    const isHeaded = read !== undefined && read.isOld !== true && records.length > 0;
    if (isHeaded && records[0] !== heading) {
      throw damaged(at.path, `begins with ${records[0]?.slice(0, 40)}, not ${heading}`);
    }
    // The heading is on disk before the log is named.
    if (records.length === 0 && number <= ((await this.#newestSaid()) ?? -1)) {
      throw damaged(at.path, 'is empty');
    }
    for (const [index, record] of records.slice(isHeaded ? 1 : 0).entries()) {
      const wrong = onChange(record);
      if (wrong === undefined) continue;
      const place = `record ${index + (isHeaded ? 2 : 1)}`;
      throw damaged(`${at.path}:`, `${place} ${wrong}`);
    }
    if (number < last) return;
    if (isHeaded) this.#log = openLog(number, await JournalFile.open(at, read), at.path);
    // One of an earlier version is read, and another one behind it is written to.
    else this.#log = await this.#newLog(records.length === 0 ? number : number + 1);
  }

  async #newLog(number: number, earlier?: () => Promise<void>): Promise<OpenLog> {
    const at = this.#at(`log-${number}`);
    const file = await JournalFile.create(at);
    await file.append([headingOf(number)]);
    await this.#files.syncDirectory(this.#options.dir);
    await this.#sayNewest(number);
    return openLog(number, file, at.path, earlier);
  }

  async #compact(capture: () => string[]): Promise<void> {
    const { dir } = this.#options;
    const number = this.#log.number + 1;
    let drained: Promise<void> | undefined;
    // What follows must not be acknowledged before what it follows.
    const next = await this.#newLog(number, async () => drained);
    const lines = capture();
    drained = this.#log.close();
    this.#log = next;
    // The log itself says at which version it begins.
    const [version = '{}'] = lines;
    await Promise.all([drained, this.#log.append(version)]);
    const path = join(dir, `snapshot-${number}`);
    this.#snapshotBytes = await writeSnapshot(this.#files, `${path}.tmp`, lines, number);
    await this.#files.rename(`${path}.tmp`, path);
    await this.#files.syncDirectory(dir);
    await this.#forgetBefore(this.#base);
    this.#base = number;
    this.#mustCompact = false;
  }

  async #forgetBefore(number: number): Promise<void> {
    for (const name of await readdir(this.#options.dir)) {
      const match = /^(?:snapshot|log)-(\d+)(\.tmp)?$/.exec(name);
      if (match !== null && (Number(match[1]) < number || match[2] !== undefined)) {
        await this.#files.remove(join(this.#options.dir, name));
      }
    }
  }

  async #newestSaid(): Promise<number | undefined> {
    const bytes = await this.#files.read(join(this.#options.dir, 'newest.json'));
    const text = Buffer.from(bytes ?? []).toString('utf8');
    const number = /^\{"log":(\d+)\}\n$/.exec(text)?.[1];
    return number === undefined ? undefined : Number(number);
  }

  /** Before the log is written to. */
  #sayNewest(log: number): Promise<void> {
    const path = join(this.#options.dir, 'newest.json');
    return replaceFile(this.#files, path, `${JSON.stringify({ log })}\n`);
  }

  #at(name: string): JournalFileOptions {
    const path = join(this.#options.dir, name);
    return { files: this.#files, path, oldFormat: oldCheckedLines };
  }
}

function numbersOf(names: readonly string[], kind: string): number[] {
  return names
    .map((name) => new RegExp(`^${kind}-(\\d+)$`).exec(name)?.[1])
    .filter((text) => text !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

const headingOf = (log: number) => JSON.stringify({ log });

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Nothing is written before `earlier` is done; after a failure nothing ever is. */
function openLog(
  number: number,
  file: JournalFile,
  path: string,
  earlier: () => Promise<void> = async () => undefined,
): OpenLog {
  let failure: Error | undefined;
  const commits = new GroupCommit({
    commit: async ({ records }) => {
      if (failure !== undefined) throw failure;
      await earlier();
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
