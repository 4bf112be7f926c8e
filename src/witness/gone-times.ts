/** So long what is gone is remembered; nobody asks for longer. */
const rememberedMs = 86_400_000;
const mostRemembered = 50_000;

/**
 * When routes and sessions that are gone were last there. Bounded: what is a day old is
 * forgotten, and of too many the oldest. Something forgotten may have been anything, so
 * from then on nothing is said to have been gone for longer than that.
 */
export class GoneTimes<Item> {
  readonly #times = new Map<string, { item: Item; atMs: number }>();
  readonly #most: number;
  #forgottenMs: number | undefined;

  constructor(most = mostRemembered) {
    this.#most = most;
  }

  note(key: string, item: Item, nowMs: number): void {
    // Set anew, so that the order of the map is the order of time.
    this.#times.delete(key);
    this.#times.set(key, { item, atMs: nowMs });
    for (const [oldest, { atMs }] of this.#times) {
      if (this.#times.size <= this.#most && nowMs - atMs <= rememberedMs) return;
      this.#times.delete(oldest);
      this.#forgottenMs = atMs;
    }
  }

  /** When the last of those was there; undefined: none of them was. */
  last(isMeant: (item: Item) => boolean): number | undefined {
    let last = this.#forgottenMs;
    for (const { item, atMs } of this.#times.values()) {
      if (isMeant(item)) last = Math.max(last ?? atMs, atMs);
    }
    return last;
  }
}
