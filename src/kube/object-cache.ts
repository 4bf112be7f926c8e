import type { StoredObject } from './resource.ts';
import { objectKey } from './resource.ts';
import { compareVersions, isOlder } from './resource-version.ts';

export interface Kept {
  name: string;
  uid: string;
  resourceVersion: string;
  namespace?: string | undefined;
}

/** The newest thing that was seen of a resource: an object, or that it was deleted. */
export interface NewestObject {
  name: string;
  namespace?: string | undefined;
  uid: string;
  version: string;
  isDeleted: boolean;
}

export interface CacheHandler<T> {
  onPut(next: T, prev: T | undefined): void;
  /**
   * `observed`: the watch reported it. `missing`: it was gone when we looked again,
   * or a namesake with another uid had taken its place.
   */
  onDelete(last: T, how: 'observed' | 'missing'): void;
}

interface Listing<T> {
  version: string;
  seen: Set<string>;
  startsOver: boolean;
  /** Held before; absent, of another uid or in an older version now. */
  lost: T[];
}

/**
 * The cache itself, and the rules for what may change it. It never waits for
 * anything, so each rule can be tested with plain values.
 *
 * Three sources report on one object, in any order: the watch, lists, and
 * the answers to our own writes. What keeps them straight are two numbers.
 * Each object has its own version, which only goes up. `completeTo` is the
 * version up to which the cache is known to be complete: the last list or watch
 * event (a bookmark too). Then:
 *  - news of an object that is held counts if it is newer than what is held;
 *  - news of an object that is not held counts if it is newer than
 *    `completeTo`: older news is of an object that was deleted since, and a
 *    late answer to our own write must not bring it back;
 *  - a list older than `completeTo` is from a stale replica or a proxy and
 *    is dropped;
 *  - absence from a list deletes, unless what is held is newer than the list;
 *  - a list that starts over (the server's count itself was set back: a restored
 *    etcd) replaces everything, whatever the versions. A list that shows an object
 *    in an older version than is held, although the list itself is newer, starts
 *    over by itself: one object's version only goes up.
 */
export class ObjectCache<T extends Kept> {
  readonly #objects = new Map<string, T>();
  /** Objects we deleted ourselves whose deletion the watch has yet to report. */
  readonly #removed = new Map<string, string>();
  readonly #keep: (raw: unknown) => T;
  readonly #handler: CacheHandler<T> | undefined;
  readonly #onBadObject: (key: string, error: unknown) => void;
  #completeTo = '0';
  #listing: Listing<T> | undefined;
  #listedAt = '0';
  #lastDeleted: NewestObject | undefined;

  constructor(options: {
    keep: (raw: unknown) => T;
    handler?: CacheHandler<T> | undefined;
    /** `keep` or the handler threw: one bad object must not stop the others. */
    onBadObject: (key: string, error: unknown) => void;
  }) {
    this.#keep = options.keep;
    this.#handler = options.handler;
    this.#onBadObject = options.onBadObject;
  }

  get completeTo(): string {
    return this.#completeTo;
  }

  /** The version of the last list. */
  get listedAt(): string {
    return this.#listedAt;
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

  /** The newest of what is held, or was seen to be deleted; the newest first. */
  newest(count: number): NewestObject[] {
    const newest: NewestObject[] = this.#lastDeleted === undefined ? [] : [this.#lastDeleted];
    for (const { name, namespace, uid, resourceVersion: version } of this.#objects.values()) {
      const isOld = newest.length >= count && !isOlder(newest.at(-1)!.version, version);
      if (isOld) continue;
      newest.push({ name, namespace, uid, version, isDeleted: false });
      newest.sort((a, b) => compareVersions(b.version, a.version));
      newest.splice(count);
    }
    return newest;
  }

  /** False when the list is older than what is known already: then drop it. */
  beginList(version: string, startOver: 'no' | 'if older' | 'yes' = 'no'): boolean {
    const isStale = isOlder(version, this.#completeTo);
    const before = this.#listing;
    // One that broke off has left a mixture: the next one has to replace everything, too.
    const startsOver =
      startOver === 'yes' || (startOver === 'if older' && isStale) || before?.startsOver === true;
    if (isStale && !startsOver) {
      this.#listing = undefined;
      return false;
    }
    const lost = before?.startsOver ? before.lost : [];
    this.#listing = { version, seen: new Set(), startsOver, lost };
    return true;
  }

  putListed(raw: StoredObject): void {
    const key = keyOf(raw);
    const listing = this.#listing;
    listing?.seen.add(key);
    const held = this.#objects.get(key);
    if (listing === undefined || held === undefined) {
      if (listing?.startsOver || this.#removed.get(key) !== raw.metadata.uid) {
        this.#put(key, raw, held);
      }
      return;
    }
    const isOlderThanHeld = isOlder(versionOf(raw), held.resourceVersion);
    if (isOlderThanHeld && !isOlder(listing.version, held.resourceVersion)) {
      listing.startsOver = true;
    }
    const isNews = listing.startsOver || compareVersions(versionOf(raw), held.resourceVersion) > 0;
    if (!isNews) return;
    if (isOlderThanHeld || raw.metadata.uid !== held.uid) listing.lost.push(held);
    this.#put(key, raw, held);
  }

  /** When it started over: what was lost by that. */
  endList(): readonly T[] | undefined {
    const listing = this.#listing;
    if (listing === undefined) return undefined;
    this.#listing = undefined;
    for (const [key, held] of this.#objects) {
      if (listing.seen.has(key)) continue;
      if (!listing.startsOver && isOlder(listing.version, held.resourceVersion)) continue;
      listing.lost.push(held);
      this.#delete(key, held, 'missing');
    }
    for (const key of this.#removed.keys()) {
      if (listing.startsOver || !listing.seen.has(key)) this.#removed.delete(key);
    }
    this.#completeTo = listing.version;
    this.#listedAt = listing.version;
    if (!listing.startsOver) return undefined;
    this.#lastDeleted = undefined;
    return listing.lost;
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
    const { name, namespace, uid = '' } = raw.metadata;
    this.#lastDeleted = { name, namespace, uid, version: versionOf(raw), isDeleted: true };
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

  /** We deleted it and the server answered that it is gone. */
  remove(key: string, uid: string): void {
    const held = this.#objects.get(key);
    if (held === undefined || held.uid !== uid) return;
    this.#removed.set(key, uid);
    const { name, namespace } = held;
    // Its version comes with the watch; it is newer than all that is known.
    this.#lastDeleted = { name, namespace, uid, version: this.#completeTo, isDeleted: true };
    this.#delete(key, held, 'observed');
  }

  #put(key: string, raw: StoredObject, held: T | undefined): void {
    let next: T;
    try {
      next = this.#keep(raw);
    } catch (error) {
      this.#onBadObject(key, error);
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
      this.#onBadObject(key, error);
    }
  }

  #delete(key: string, held: T, how: 'observed' | 'missing'): void {
    this.#objects.delete(key);
    try {
      this.#handler?.onDelete(held, how);
    } catch (error) {
      this.#onBadObject(key, error);
    }
  }
}

function keyOf(raw: StoredObject): string {
  return objectKey(raw.metadata);
}

function versionOf(raw: StoredObject): string {
  return raw.metadata.resourceVersion ?? '';
}
