/**
 * All objects, in memory and on disk.
 *
 * A change takes effect in memory at once, so that the next request is judged
 * by it, and is written behind. Nobody outside hears of it before it is on
 * disk: not the client that made it, no reader, no watcher. Otherwise a crash
 * could take back what somebody has already seen, and versions would run
 * backwards.
 */
import type { ApiObject } from '../object.ts';
import { ApiRefusal } from '../status.ts';
import { type Change, Collection, type Entry } from './collection.ts';
import { StoreJournal } from './journal.ts';

interface StoreOptions {
  dir: string;
  waitsForDisk?: boolean | undefined;
  compactAboveBytes?: number | undefined;
  /** Changes a collection remembers, at least. */
  historyLimit?: number | undefined;
  /** The disk failed. */
  onFailure?: ((error: unknown) => void) | undefined;
  /** A damaged file was read around, and nothing is lost. */
  onRepair?: ((message: string) => void) | undefined;
}

/** What etcd takes in one request. */
const maxObjectBytes = 1.5 * 1024 * 1024;

/** A line of the log: an object, or the deletion of one. */
type Line =
  | { c: string; k: string; o: ApiObject }
  | { c: string; k: string; d: number }
  | { version: number };

export class ObjectStore {
  readonly #collections = new Map<string, Collection>();
  readonly #historyLimit: number;
  readonly #listeners = new Set<(collection: Collection, change: Change) => void>();
  #journal!: StoreJournal;
  #version = 1;
  #safeVersion = 1;
  #lastWrite: Promise<void> = Promise.resolve();
  #snapshotVersion = 1;
  #hasFailed = false;
  readonly #onFailure: (error: unknown) => void;

  private constructor(historyLimit: number, onFailure: (error: unknown) => void) {
    this.#historyLimit = historyLimit;
    this.#onFailure = onFailure;
  }

  static async open(options: StoreOptions): Promise<ObjectStore> {
    const store = new ObjectStore(options.historyLimit ?? 2_000, options.onFailure ?? (() => {}));
    store.#journal = await StoreJournal.open(
      {
        dir: options.dir,
        waitsForDisk: options.waitsForDisk ?? true,
        compactAboveBytes: options.compactAboveBytes ?? 16 * 1024 * 1024,
        ...(options.onRepair === undefined ? {} : { onRepair: options.onRepair }),
      },
      {
        onSnapshot: (json) => store.#restore(json),
        onSnapshotEnd: () => {
          store.#snapshotVersion = store.#version;
        },
        onChange: (json) => store.#replay(json),
      },
    );
    store.#safeVersion = store.#version;
    store.#journal.onFailure((error) => options.onFailure?.(error));
    if (store.#journal.wantsSnapshot) void store.compact();
    return store;
  }

  /** The version of the last change, safe on disk or not. */
  get version(): number {
    return this.#version;
  }

  /** A change could not be written: neither reads nor writes are answered any more. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** The version of the last change that anybody may have heard of. */
  get safeVersion(): number {
    return this.#safeVersion;
  }

  collection(name: string): Collection {
    let collection = this.#collections.get(name);
    if (collection === undefined) {
      collection = new Collection(name, this.#snapshotVersion, this.#historyLimit);
      this.#collections.set(name, collection);
    }
    return collection;
  }

  /** Called for every change of any collection, once it is safe. */
  onChange(listener: (collection: Collection, change: Change) => void): void {
    this.#listeners.add(listener);
  }

  /** Resolves when everything that has taken effect so far is on disk. */
  settled(): Promise<void> {
    return this.#lastWrite;
  }

  /** Creates or replaces; the object gets its version here. Resolves when it is on disk. */
  put(
    collection: Collection,
    key: string,
    object: ApiObject,
  ): { entry: Entry; safe: Promise<void> } {
    const version = this.#version + 1;
    const entry = entryOf(key, version, object);
    if (entry.json.length > maxObjectBytes) {
      throw new ApiRefusal(500, '', 'etcdserver: request is too large');
    }
    const line = `{"c":${JSON.stringify(collection.name)},"k":${JSON.stringify(key)},"o":${entry.json}}`;
    const before = collection.get(key);
    return { entry, safe: this.#make(collection, { before, after: entry, seen: entry }, line) };
  }

  remove(collection: Collection, key: string): { entry: Entry; safe: Promise<void> } {
    const before = collection.get(key) as Entry;
    const version = this.#version + 1;
    const seen = entryOf(key, version, before.object);
    const line = JSON.stringify({ c: collection.name, k: key, d: version });
    return { entry: seen, safe: this.#make(collection, { before, after: undefined, seen }, line) };
  }

  /** A snapshot now, however small the log is. */
  compact(): Promise<void> {
    return this.#journal.compact(() => {
      const lines = [JSON.stringify({ version: this.#version })];
      for (const [name, collection] of this.#collections) {
        for (const { key, json } of collection.entries()) {
          lines.push(`{"c":${JSON.stringify(name)},"k":${JSON.stringify(key)},"o":${json}}`);
        }
      }
      return lines;
    });
  }

  async close(): Promise<void> {
    await this.#lastWrite.catch(() => {});
    await this.#journal.close();
  }

  #make(
    collection: Collection,
    states: Pick<Change, 'before' | 'after' | 'seen'>,
    line: string,
  ): Promise<void> {
    this.#version += 1;
    const change = { ...states, version: this.#version, key: states.seen.key, lines: new Map() };
    collection.apply(change);
    const safe = this.#journal.append(line).then(() => {
      this.#safeVersion = change.version;
      for (const watcher of collection.watchers) watcher(change);
      // All that listen have it; who comes later is one at a time.
      change.lines.clear();
      for (const listener of this.#listeners) listener(collection, change);
      if (this.#journal.wantsSnapshot) void this.compact();
    });
    this.#lastWrite = safe;
    safe.catch((error: unknown) => {
      // What is in memory is ahead of what is kept: nothing is true any more until a restart.
      if (!this.#hasFailed) this.#onFailure(error);
      this.#hasFailed = true;
    });
    return safe;
  }

  #restore(json: string): void {
    const line = JSON.parse(json) as Line;
    if ('version' in line) {
      this.#version = line.version;
      this.#snapshotVersion = line.version;
    } else if ('o' in line) {
      this.collection(line.c).restore(storedEntry(line.k, line.o));
    }
  }

  /** What is wrong with the line, if something is: versions are counted without gaps. */
  #replay(json: string): string | undefined {
    const line = JSON.parse(json) as Line;
    if ('version' in line) {
      return line.version > this.#version ? this.#gap(line.version) : undefined;
    }
    const collection = this.collection(line.c);
    const before = collection.get(line.k);
    const after = 'o' in line ? storedEntry(line.k, line.o) : undefined;
    const version = 'o' in line ? (after as Entry).version : line.d;
    // Written into both a snapshot and the log that it closes: known already.
    if (version <= this.#version) return undefined;
    if (version > this.#version + 1) return this.#gap(version - 1);
    if (before === undefined && after === undefined) return 'deletes what is not there';
    const seen = after ?? entryOf(line.k, version, (before as Entry).object);
    collection.apply({ version, key: line.k, before, after, seen, lines: new Map() });
    this.#version = version;
    return undefined;
  }

  #gap(upTo: number): string {
    const from = this.#version + 1;
    const versions = from === upTo ? `version ${from}` : `versions ${from} to ${upTo}`;
    return `follows ${versions}, which no file has`;
  }
}

function entryOf(key: string, version: number, object: ApiObject): Entry {
  const metadata = { ...object.metadata, resourceVersion: String(version) };
  const stored = { ...object, metadata };
  return { key, version, object: stored, json: JSON.stringify(stored) };
}

function storedEntry(key: string, object: ApiObject): Entry {
  const version = Number(object.metadata.resourceVersion);
  return { key, version, object, json: JSON.stringify(object) };
}
