import type { Clock } from '../base/clock.ts';
import type { FollowedCache } from '../cluster/followed-cache.ts';
import type { CacheHandler, Kept } from '../kube/object-cache.ts';

interface KeptObjectsOptions {
  clock: Clock;
  /** How long a deleted object counts: until it is seen whether its definition goes, too. */
  graceMs: number;
  onChange: () => void;
}

const lookEveryMs = 250;

/**
 * Objects of a custom resource, with those that went when somebody deleted its definition: the
 * API server then deletes them one by one before it stops serving them. A node must not drop
 * its sessions over that. They count until there is an object of the kind again. The
 * price: an object that somebody deletes alone counts for a few seconds more.
 */
export class KeptObjects<T extends Kept> {
  readonly #o: KeptObjectsOptions;
  readonly #deleted = new Map<string, { object: T; atMs: number }>();
  #cache: FollowedCache<T> | undefined;
  #isUndefined = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: KeptObjectsOptions) {
    this.#o = options;
  }

  /** To be followed with `handler`. */
  follow(cache: FollowedCache<T>): void {
    this.#cache = cache;
  }

  readonly handler: CacheHandler<T> = {
    onPut: ({ name }) => {
      this.#deleted.delete(name);
      this.#o.onChange();
    },
    onDelete: (object) => {
      this.#deleted.set(object.name, { object, atMs: this.#o.clock.monotonicMs() });
      this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref();
    },
  };

  *values(): Iterable<T> {
    yield* this.#cache?.values() ?? [];
    for (const { object } of this.#deleted.values()) yield object;
  }

  #look(): void {
    const before = this.#deleted.size;
    if (this.#cache?.refusal === 'not registered') this.#isUndefined = true;
    else if (!this.#isUndefined) {
      const untilMs = this.#o.clock.monotonicMs() - this.#o.graceMs;
      for (const [name, { atMs }] of this.#deleted) {
        if (atMs <= untilMs) this.#deleted.delete(name);
      }
    } else if (this.#cache?.values().next().done === false) {
      this.#isUndefined = false;
      this.#deleted.clear();
    }
    if (this.#deleted.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    if (this.#deleted.size !== before) this.#o.onChange();
  }
}
