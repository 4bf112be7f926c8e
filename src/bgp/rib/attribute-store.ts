import type { PathAttributes } from '../wire/message.ts';

/** What routes of one UPDATE share; kept once however many routes point to it. */
export interface SharedAttributes {
  readonly attributes: PathAttributes;
  /** One address, or an IPv6 global and link-local one. */
  readonly nextHops: readonly string[];
}

interface Entry extends SharedAttributes {
  readonly key: string;
  routes: number;
}

/**
 * Attributes by handle, shared between all routes whose attributes came in the
 * same octets, and forgotten with the last of them. Handles are reused; 0 is
 * never one.
 */
export class AttributeStore {
  readonly #entries: (Entry | undefined)[] = [undefined];
  readonly #byKey = new Map<string, number>();
  readonly #free: number[] = [];

  get size(): number {
    return this.#byKey.size;
  }

  /** The handle for a key; `create` is asked only where the key is new. */
  intern(key: string, create: () => SharedAttributes): number {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const { attributes, nextHops } = create();
    const entry: Entry = { key, attributes, nextHops, routes: 0 };
    const handle = this.#free.pop() ?? this.#entries.length;
    this.#entries[handle] = entry;
    this.#byKey.set(key, handle);
    return handle;
  }

  get(handle: number): SharedAttributes {
    const entry = this.#entries[handle];
    if (entry === undefined) throw new RangeError(`no attributes with handle ${handle}`);
    return entry;
  }

  /** Records how many more routes point to a handle; at none it is forgotten. */
  addRoutes(handle: number, routes: number): void {
    const entry = this.#entries[handle];
    if (entry === undefined) return;
    entry.routes += routes;
    if (entry.routes > 0) return;
    this.#entries[handle] = undefined;
    this.#byKey.delete(entry.key);
    this.#free.push(handle);
  }
}
