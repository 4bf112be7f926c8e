import type { StoredObject } from './resource.ts';
import { objectKey } from './resource.ts';
import { compareVersions, isOlder } from './resource-version.ts';

export interface Kept {
  name: string;
  uid: string;
  resourceVersion: string;
  namespace?: string | undefined;
}

export interface CacheHandler<T> {
  onPut(next: T, prev: T | undefined): void;
  /**
   * `observed`: the watch said so. `missing`: it was gone when we looked again,
   * or a namesake with another uid had taken its place.
   */
  onDelete(last: T, how: 'observed' | 'missing'): void;
}

/**
 * The cache itself, and the rules for what may change it. It never waits for
 * anything, so each rule can be tested with plain values.
 *
 * Three sources speak about one object, in any order: the watch, lists, and
 * the answers to our own writes. What keeps them straight are two numbers.
 * Each object has its own version, which only goes up. `completeTo` is the
 * version up to which the cache is known to be complete: the last list or watch
 * event (a bookmark too). Then:
 *  - news of an object that is held counts if it is newer than what is held;
 *  - news of an object that is not held counts if it is newer than
 *    `completeTo`: older news is of an object that was deleted since, and a
 *    late answer to our own write must not bring it back;
 *  - a list older than `completeTo` is a lie (a stale replica, a proxy) and
 *    says nothing at all;
 *  - absence from a list deletes, unless what is held is newer than the list;
 *  - a list that starts over (the server's count itself was set back: a restored
 *    etcd) replaces everything, whatever the versions say.
 */
export class ObjectCache<T extends Kept> {
  readonly #objects = new Map<string, T>();
  /** Objects we deleted ourselves whose deletion the watch has yet to report. */
  readonly #removed = new Map<string, string>();
  readonly #keep: (raw: unknown) => T;
  readonly #handler: CacheHandler<T> | undefined;
  readonly #onTrouble: (key: string, error: unknown) => void;
  #completeTo = '0';
  #listing: { version: string; seen: Set<string>; startsOver: boolean } | undefined;

  constructor(options: {
    keep: (raw: unknown) => T;
    handler?: CacheHandler<T> | undefined;
    /** `keep` or the handler threw: one bad object must not stop the others. */
    onTrouble: (key: string, error: unknown) => void;
  }) {
    this.#keep = options.keep;
    this.#handler = options.handler;
    this.#onTrouble = options.onTrouble;
  }

  get completeTo(): string {
    return this.#completeTo;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** False when the list is older than what is known already: then drop it. */
  beginList(version: string, mayStartOver = false): boolean {
    const isStale = isOlder(version, this.#completeTo);
    const isRefused = isStale && !mayStartOver;
    this.#listing = isRefused ? undefined : { version, seen: new Set(), startsOver: isStale };
    return !isRefused;
  }

  putListed(raw: StoredObject): void {
    const key = keyOf(raw);
    this.#listing?.seen.add(key);
    const startsOver = this.#listing?.startsOver ?? false;
    if (!startsOver && this.#removed.get(key) === raw.metadata.uid) return;
    const held = this.#objects.get(key);
    const isNews = startsOver
      ? versionOf(raw) !== held?.resourceVersion
      : held === undefined || compareVersions(versionOf(raw), held.resourceVersion) > 0;
    if (isNews) {
      this.#put(key, raw, held);
    }
  }

  endList(): void {
    const listing = this.#listing;
    if (listing === undefined) return;
    this.#listing = undefined;
    for (const [key, held] of this.#objects) {
      if (listing.seen.has(key)) continue;
      if (!listing.startsOver && isOlder(listing.version, held.resourceVersion)) continue;
      this.#delete(key, held, 'missing');
    }
    for (const key of this.#removed.keys()) {
      if (listing.startsOver || !listing.seen.has(key)) this.#removed.delete(key);
    }
    this.#completeTo = listing.version;
  }

  /** An ADDED or MODIFIED event. */
  putWatched(raw: StoredObject): void {
    this.put(raw);
    this.bookmark(versionOf(raw));
  }

  /** A DELETED event. */
  deleteWatched(raw: StoredObject): void {
    const key = keyOf(raw);
    const held = this.#objects.get(key);
    if (this.#removed.get(key) === raw.metadata.uid) this.#removed.delete(key);
    if (held !== undefined && held.uid === raw.metadata.uid) this.#delete(key, held, 'observed');
    this.bookmark(versionOf(raw));
  }

  bookmark(version: string): void {
    if (compareVersions(version, this.#completeTo) > 0) this.#completeTo = version;
  }

  /** The answer to a read or write of our own; older news is ignored. */
  put(raw: StoredObject): void {
    const key = keyOf(raw);
    const version = versionOf(raw);
    const held = this.#objects.get(key);
    if (this.#removed.get(key) === raw.metadata.uid) return;
    const known = held === undefined ? this.#completeTo : held.resourceVersion;
    if (compareVersions(version, known) > 0) this.#put(key, raw, held);
  }

  /** We deleted it and the server said it is gone. */
  remove(key: string, uid: string): void {
    const held = this.#objects.get(key);
    if (held === undefined || held.uid !== uid) return;
    this.#removed.set(key, uid);
    this.#delete(key, held, 'observed');
  }

  #put(key: string, raw: StoredObject, held: T | undefined): void {
    let next: T;
    try {
      next = this.#keep(raw);
    } catch (error) {
      this.#onTrouble(key, error);
      return;
    }
    let prev = held;
    if (held !== undefined && held.uid !== next.uid) {
      this.#delete(key, held, 'missing');
      prev = undefined;
    }
    this.#objects.set(key, next);
    try {
      this.#handler?.onPut(next, prev);
    } catch (error) {
      this.#onTrouble(key, error);
    }
  }

  #delete(key: string, held: T, how: 'observed' | 'missing'): void {
    this.#objects.delete(key);
    try {
      this.#handler?.onDelete(held, how);
    } catch (error) {
      this.#onTrouble(key, error);
    }
  }
}

function keyOf(raw: StoredObject): string {
  return objectKey(raw.metadata);
}

function versionOf(raw: StoredObject): string {
  return raw.metadata.resourceVersion ?? '';
}
