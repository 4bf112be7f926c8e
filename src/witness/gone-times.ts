/** So long what is gone is remembered at least; nobody asks for longer. */
const rememberedMs = 86_400_000;
const mostRemembered = 50_000;

interface Generation<Item> {
  readonly times: Map<string, { item: Item; atMs: number }>;
  readonly sinceMs: number;
}

/**
 * When routes and sessions that are gone were last there. Bounded: what is older than a day
 * is forgotten, and the older half when there are too many. Something forgotten may have been
 * anything, so from then on nothing is said to have been gone for longer than that.
 *
 * In two generations, of which the older one is dropped whole: a router that loses a million
 * routes at once must not cost more than to note them.
 */
export class GoneTimes<Item> {
  readonly #mostInOne: number;
  #recent: Generation<Item> = { times: new Map(), sinceMs: 0 };
  #older: Generation<Item> | undefined;
  #forgottenMs: number | undefined;

  constructor(most = mostRemembered) {
    this.#mostInOne = Math.ceil(most / 2);
  }

  note(key: string, item: Item, nowMs: number): void {
    const { times, sinceMs } = this.#recent;
    if (times.size === 0) this.#recent = { times, sinceMs: nowMs };
    else if (times.size >= this.#mostInOne || nowMs - sinceMs > rememberedMs) {
      // The last that is dropped went before the first of the generation after it.
      if (this.#older !== undefined) this.#forgottenMs = sinceMs;
      this.#older = this.#recent;
      this.#recent = { times: new Map(), sinceMs: nowMs };
    }
    this.#recent.times.set(key, { item, atMs: nowMs });
  }

  /** When the last of those was there; undefined: none of them was. */
  last(isMeant: (item: Item) => boolean): number | undefined {
    let last = this.#forgottenMs;
    for (const generation of [this.#older, this.#recent]) {
      for (const { item, atMs } of generation?.times.values() ?? []) {
        if (isMeant(item)) last = Math.max(last ?? atMs, atMs);
      }
    }
    return last;
  }
}
