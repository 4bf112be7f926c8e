/**
 * The console's state: rows by kind and key, and a bounded log of their changes.
 * A reader says where it was; it gets what came since, or, if that is forgotten
 * (or was another process), everything anew. Writers put whole rows; what did
 * not change is not sent.
 */
import type { RowChange, RowKind, Rows, StateMessage } from './rows.ts';

/** Changes remembered for readers that were away for a moment. */
const remembered = 20_000;

interface Held {
  text: string;
  row: Rows[RowKind];
}

export class ConsoleState {
  /** Tells the states of two processes apart. */
  readonly epoch: string;
  readonly #rows = new Map<RowKind, Map<string, Held>>();
  readonly #listeners = new Set<() => void>();
  #log: RowChange[] = [];
  /** Number of the change before the first of the log. */
  #forgotten = 0;
  #notifying: NodeJS.Timeout | undefined;
  readonly #notifyEveryMs: number;

  constructor(options: { epoch: string; notifyEveryMs?: number }) {
    this.epoch = options.epoch;
    this.#notifyEveryMs = options.notifyEveryMs ?? 200;
  }

  get at(): string {
    return `${this.epoch}:${this.#forgotten + this.#log.length}`;
  }

  put<K extends RowKind>(kind: K, key: string, row: Rows[K]): void {
    const rows = this.#of(kind);
    const text = JSON.stringify(row);
    if (rows.get(key)?.text === text) return;
    rows.set(key, { text, row });
    this.#note([kind, key, row] as RowChange);
  }

  remove(kind: RowKind, key: string): void {
    if (!this.#of(kind).delete(key)) return;
    this.#note([kind, key, null] as RowChange);
  }

  /** Puts all rows of a kind; those not named go. */
  putAll<K extends RowKind>(kind: K, rows: ReadonlyMap<string, Rows[K]>): void {
    for (const key of [...this.#of(kind).keys()]) if (!rows.has(key)) this.remove(kind, key);
    for (const [key, row] of rows) this.put(kind, key, row);
  }

  get<K extends RowKind>(kind: K, key: string): Rows[K] | undefined {
    return this.#of(kind).get(key)?.row as Rows[K] | undefined;
  }

  all<K extends RowKind>(kind: K): Rows[K][] {
    return [...this.#of(kind).values()].map(({ row }) => row as Rows[K]);
  }

  /** As JSON text, put together from the rows' own: a large state is not written anew each time. */
  snapshot(): string {
    const parts: string[] = [];
    for (const [kind, rows] of this.#rows) {
      for (const [key, { text }] of rows) {
        parts.push(`["${kind}",${JSON.stringify(key)},${text}]`);
      }
    }
    return `{"at":${JSON.stringify(this.at)},"changes":[${parts.join(',')}]}`;
  }

  /** What came since; undefined if that cannot be said any more. */
  since(at: string): StateMessage | undefined {
    const colon = at.lastIndexOf(':');
    const number = Number(at.slice(colon + 1));
    const from = number - this.#forgotten;
    if (at.slice(0, colon) !== this.epoch || !(from >= 0 && from <= this.#log.length)) {
      return undefined;
    }
    // Of several changes of one row only the last one counts.
    const last = new Map<string, RowChange>();
    for (const change of this.#log.slice(from)) {
      const key = `${change[0]} ${change[1]}`;
      last.delete(key);
      last.set(key, change);
    }
    return { at: this.at, changes: [...last.values()] };
  }

  /** Called at most every so often after changes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    clearTimeout(this.#notifying);
    this.#listeners.clear();
  }

  #of(kind: RowKind): Map<string, Held> {
    let rows = this.#rows.get(kind);
    if (rows === undefined) {
      rows = new Map();
      this.#rows.set(kind, rows);
    }
    return rows;
  }

  #note(change: RowChange): void {
    this.#log.push(change);
    if (this.#log.length > 2 * remembered) {
      this.#forgotten += this.#log.length - remembered;
      this.#log = this.#log.slice(-remembered);
    }
    if (this.#notifying !== undefined || this.#listeners.size === 0) return;
    this.#notifying = setTimeout(() => {
      this.#notifying = undefined;
      for (const listener of this.#listeners) listener();
    }, this.#notifyEveryMs);
    this.#notifying.unref();
  }
}
