/** So long what is gone is remembered at least; nobody asks for longer. */
const rememberedMs = 86_400_000;
const mostRemembered = 50_000;

interface Gone<Item> {
  readonly item: Item;
  readonly atMs: number;
}

/**
 * When routes and sessions that are gone were last there. Bounded: what is older than a day
 * is forgotten, and the older half when there are too many. Something forgotten may have been
 * anything, so from then on nothing is said to have been gone for longer than that.
 *
 * Two lists, of which the older one is dropped whole: a router that loses a million routes at
 * once must not cost more than to note them.
 */
export class GoneTimes<Item> {
  readonly #mostInOne: number;
  #recent: Gone<Item>[] = [];
  #older: Gone<Item>[] = [];
  #forgottenMs: number | undefined;

  constructor(most = mostRemembered) {
    this.#mostInOne = Math.ceil(most / 2);
  }

  note(item: Item, nowMs: number): void {
    const sinceMs = this.#recent[0]?.atMs ?? nowMs;
    if (this.#recent.length >= this.#mostInOne || nowMs - sinceMs > rememberedMs) {
      this.#forgottenMs = this.#older.at(-1)?.atMs ?? this.#forgottenMs;
      this.#older = this.#recent;
      this.#recent = [];
    }
    this.#recent.push({ item, atMs: nowMs });
  }

  /** When the last of those was there; undefined: none of them was. */
  last(isMeant: (item: Item) => boolean): number | undefined {
    const isIt = ({ item }: Gone<Item>) => isMeant(item);
    const found = this.#recent.findLast(isIt) ?? this.#older.findLast(isIt);
    return found?.atMs ?? this.#forgottenMs;
  }
}
