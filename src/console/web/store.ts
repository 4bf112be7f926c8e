/**
 * Everything the page knows: rows by kind, followed live. The state is fetched
 * once, then changes are streamed; after a pause the stream goes on where it
 * was, and only if the server has forgotten that place all is fetched anew.
 */
import { useEffect, useState } from 'preact/hooks';
import { pastKinds } from '../past-kinds.ts';
import type { RowChange, RowKind, Rows, StateMessage } from '../rows.ts';

export type Connection = 'connecting' | 'live' | 'away';

/** Views are drawn anew at most this often: tables are long. */
const notifyEveryMs = 150;

const none: ReadonlyMap<string, unknown> = new Map();

export class RowStore {
  connection: Connection = 'connecting';
  /** When it was live last. */
  leftMs = 0;
  /** Why the state could not be had, for people. */
  trouble = '';
  readonly #rows = new Map<RowKind, Map<string, unknown>>();
  readonly #versions = new Map<RowKind, number>();
  readonly #listeners = new Set<() => void>();
  /** A past moment, while one is looked at. */
  past: { atMs: number; rows: Map<RowKind, Map<string, unknown>>; trouble: string } | undefined;
  #notifying = 0;
  #source: EventSource | undefined;
  #asked: number | undefined;

  map<K extends RowKind>(kind: K): ReadonlyMap<string, Rows[K]> {
    const past = this.past;
    const isPast = past !== undefined && pastKinds.includes(kind);
    return (isPast ? (past.rows.get(kind) ?? none) : this.#of(kind)) as Map<string, Rows[K]>;
  }

  all<K extends RowKind>(kind: K): Rows[K][] {
    return [...this.map(kind).values()];
  }

  /** Goes up when a row of the kind changes. */
  version(...kinds: RowKind[]): string {
    const versions = kinds.map((kind) => this.#versions.get(kind) ?? 0).join('.');
    return this.past === undefined ? versions : `${versions} as of ${this.past.atMs}`;
  }

  /** Shows a past moment in the place of now; undefined: now again. */
  async showPast(atMs: number | undefined): Promise<void> {
    this.#asked = atMs;
    if (atMs === undefined || Number.isNaN(atMs)) {
      if (this.past !== undefined) this.past = undefined;
      this.#notify();
      return;
    }
    const rows = new Map<RowKind, Map<string, unknown>>();
    let trouble = '';
    try {
      const answer = await fetch(`/api/state?at=${new Date(atMs).toISOString()}`);
      const { changes = [], error = '' } = (await answer.json()) as Partial<StateMessage> & {
        error?: string;
      };
      trouble = error;
      for (const [kind, key, row] of changes) {
        const of = rows.get(kind) ?? new Map<string, unknown>();
        rows.set(kind, of.set(key, row));
      }
    } catch {
      trouble = 'The server does not answer.';
    }
    // Another moment was asked for meanwhile.
    if (this.#asked !== atMs) return;
    this.past = { atMs, rows, trouble };
    this.#notify();
  }

  async connect(): Promise<void> {
    this.#source?.close();
    try {
      const answer = await fetch('/api/state');
      if (!answer.ok) throw new Error(((await answer.json()) as { error: string }).error);
      const { at, changes } = (await answer.json()) as StateMessage;
      for (const kind of this.#rows.keys()) {
        this.#rows.get(kind)?.clear();
        this.#touch(kind);
      }
      this.#apply(changes);
      this.#follow(at);
    } catch (error) {
      this.trouble = error instanceof Error ? error.message : String(error);
      this.#setConnection('away');
      setTimeout(() => void this.connect(), 2_000);
    }
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #follow(at: string): void {
    const source = new EventSource(`/api/events?from=${encodeURIComponent(at)}`);
    this.#source = source;
    source.onopen = () => {
      this.trouble = '';
      this.#setConnection('live');
    };
    source.onmessage = (event) => this.#apply((JSON.parse(event.data) as StateMessage).changes);
    source.addEventListener('anew', () => {
      source.close();
      void this.connect();
    });
    source.onerror = () => {
      this.#setConnection('away');
      // Closed for good: the server refused (a new token, say). Otherwise the browser goes on trying.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => void this.connect(), 2_000);
    };
  }

  #apply(changes: readonly RowChange[]): void {
    const touched = new Set<RowKind>();
    for (const [kind, key, row] of changes) {
      if (row === null) this.#of(kind).delete(key);
      else this.#of(kind).set(key, row);
      touched.add(kind);
    }
    for (const kind of touched) this.#touch(kind);
    this.#notify();
  }

  #touch(kind: RowKind): void {
    this.#versions.set(kind, (this.#versions.get(kind) ?? 0) + 1);
  }

  #setConnection(connection: Connection): void {
    if (this.connection === 'live' && connection === 'away') this.leftMs = Date.now();
    this.connection = connection;
    this.#notify();
  }

  #notify(): void {
    if (this.#notifying !== 0) return;
    this.#notifying = window.setTimeout(() => {
      this.#notifying = 0;
      for (const listener of this.#listeners) listener();
    }, notifyEveryMs);
  }

  #of(kind: RowKind): Map<string, unknown> {
    let rows = this.#rows.get(kind);
    if (rows === undefined) {
      rows = new Map();
      this.#rows.set(kind, rows);
    }
    return rows;
  }
}

export const store = new RowStore();

/** Renders again when something changed. */
export function useStore(): RowStore {
  const [, setTick] = useState(0);
  useEffect(() => store.subscribe(() => setTick((tick) => tick + 1)), []);
  return store;
}
