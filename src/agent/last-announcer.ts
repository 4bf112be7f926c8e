/**
 * Addresses of Services that no other node announces, as far as a leaving node has to care.
 * That another node can take one over is known before its announcement has reached the
 * routers; until then ours has to stay. So an address counts for the grace of a drain longer
 * than it is so.
 */
export class LastAnnouncer {
  readonly #graceMs: number;
  /** `endMs` is there once another node can take it over. */
  readonly #all = new Map<string, { words: string; endMs?: number }>();

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /** By prefix, with the words for it. */
  next(onlyHere: ReadonlyMap<string, string>, nowMs: number): ReadonlyMap<string, string> {
    for (const [prefix, words] of onlyHere) this.#all.set(prefix, { words });
    for (const [prefix, one] of this.#all) {
      if (onlyHere.has(prefix)) continue;
      one.endMs ??= nowMs + this.#graceMs;
      if (one.endMs <= nowMs) this.#all.delete(prefix);
    }
    return new Map([...this.#all].map(([prefix, { words }]) => [prefix, words]));
  }

  forget(): void {
    this.#all.clear();
  }

  /** When the first of those that are taken over need not stay any more. */
  endsInMs(nowMs: number): number {
    const ends = [...this.#all.values()].map(({ endMs = Number.POSITIVE_INFINITY }) => endMs);
    return Math.min(...ends) - nowMs;
  }
}
