/**
 * Where the packets for a block go, by every machine that was asked: its routers' tables, and the
 * kernels of routers and nodes. Two nodes for one address at one moment is what must never be.
 */
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

interface Place {
  readonly prefix: Prefix;
  /** The node that the packets are sent to. */
  readonly node: string;
}

export class Places {
  /** By source, such as a kernel or a table, and within it by prefix and node. */
  readonly #sources = new Map<string, Map<string, Place>>();
  readonly #found = new Set<string>();

  /** Everything that a source has at this moment. */
  replace(source: string, routes: ReadonlyArray<{ prefix: string; node: string }>): void {
    this.#sources.delete(source);
    for (const { prefix, node } of routes) this.add(source, prefix, node);
  }

  add(source: string, prefix: string, node: string): void {
    const places = this.#sources.get(source) ?? new Map<string, Place>();
    this.#sources.set(
      source,
      places.set(keyOf(prefix, node), { prefix: parsePrefix(prefix)!, node }),
    );
  }

  /** A kernel has one route of a prefix: what it had before is replaced. */
  set(source: string, prefix: string, node: string): void {
    for (const [key, place] of this.#sources.get(source) ?? []) {
      if (place.prefix.toString() === prefix) this.#sources.get(source)!.delete(key);
    }
    this.add(source, prefix, node);
  }

  remove(source: string, prefix: string, node: string): void {
    this.#sources.get(source)?.delete(keyOf(prefix, node));
  }

  /** Compares all with all; what it finds stays found. */
  look(): void {
    const all = [...this.#sources].flatMap(([source, places]) =>
      [...places.values()].map((place) => ({ source, ...place })),
    );
    for (const [index, one] of all.entries()) {
      for (const other of all.slice(index + 1)) {
        if (one.node === other.node || !one.prefix.overlaps(other.prefix)) continue;
        this.#found.add(
          `${one.prefix} at ${one.node} (${one.source}), ${other.prefix} at ${other.node} (${other.source})`,
        );
      }
    }
  }

  get found(): readonly string[] {
    return [...this.#found];
  }
}

const keyOf = (prefix: string, node: string) => `${prefix} ${node}`;
