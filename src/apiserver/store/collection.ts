/**
 * The objects of one resource, in the order of their keys, with enough of
 * their past to serve a watch from some versions ago and a list as it was.
 *
 * Objects are never changed in place, so whoever holds an entry holds that
 * moment. An entry's text is made once and serves the log, lists and watches.
 */
import type { ApiObject } from '../object.ts';

export interface Entry {
  readonly key: string;
  readonly version: number;
  readonly object: ApiObject;
  /** The object as JSON. */
  readonly json: string;
}

export interface Change {
  readonly version: number;
  readonly key: string;
  /** Undefined: it was created. */
  readonly before: Entry | undefined;
  /** Undefined: it was deleted. */
  readonly after: Entry | undefined;
  /** The last state with the version of the change: what watchers get. */
  readonly seen: Entry;
  /** Encoded once for all watchers of the same form. */
  readonly lines: Map<string, Buffer>;
}

type Watcher = (change: Change) => void;

export class Collection {
  readonly name: string;
  readonly watchers = new Set<Watcher>();
  readonly #entries = new Map<string, Entry>();
  readonly #history: Change[] = [];
  readonly #historyLimit: number;
  #forgottenTo: number;
  #order: string[] | undefined;

  constructor(name: string, forgottenTo: number, historyLimit: number) {
    this.name = name;
    this.#forgottenTo = forgottenTo;
    this.#historyLimit = historyLimit;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Versions up to this one cannot be watched from or listed at any more … */
  get forgottenTo(): number {
    return this.#forgottenTo;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  entries(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  /** In order; of one namespace if given. */
  list(namespace?: string): Entry[] {
    const found: Entry[] = [];
    for (const key of this.#keys()) {
      if (namespace !== undefined && !key.startsWith(`${namespace}/`)) continue;
      found.push(this.#entries.get(key) as Entry);
    }
    return found;
  }

  /** The list as it was at that version; undefined if that is forgotten. */
  listAt(version: number, namespace?: string): Entry[] | undefined {
    const since = this.since(version);
    if (since === undefined) return undefined;
    if (since.length === 0) return this.list(namespace);
    const then = new Map<string, Entry | undefined>();
    for (const { key, before } of since) if (!then.has(key)) then.set(key, before);
    const keys = new Set(this.#entries.keys());
    for (const [key, entry] of then) {
      if (entry === undefined) keys.delete(key);
      else keys.add(key);
    }
    return [...keys]
      .filter((key) => namespace === undefined || key.startsWith(`${namespace}/`))
      .sort(inOrder)
      .map((key) => then.get(key) ?? (this.#entries.get(key) as Entry));
  }

  /** The changes after that version; undefined if some of them are forgotten. */
  since(version: number): Change[] | undefined {
    if (version < this.#forgottenTo) return undefined;
    // Whoever asks is mostly close to the end.
    let from = this.#history.length;
    while (from > 0 && (this.#history[from - 1] as Change).version > version) from -= 1;
    return this.#history.slice(from);
  }

  /** Without a past: from a snapshot. */
  restore(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    this.#order = undefined;
  }

  apply(change: Change): void {
    const { key, before, after } = change;
    if (after === undefined) this.#entries.delete(key);
    else this.#entries.set(key, after);
    if (before === undefined || after === undefined) this.#order = undefined;
    this.#history.push(change);
    // By halves, so that forgetting costs little for each change.
    if (this.#history.length > 2 * this.#historyLimit) {
      const gone = this.#history.splice(0, this.#historyLimit);
      this.#forgottenTo = (gone.at(-1) as Change).version;
    }
  }

  #keys(): string[] {
    this.#order ??= [...this.#entries.keys()].sort(inOrder);
    return this.#order;
  }
}

function inOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
