import type { Allocation } from './allocation.ts';

/** Every allocation, found by owner, address and generation; and those that expire unless claimed. */
export class AllocationIndex {
  readonly #byOwner = new Map<string, Allocation>();
  readonly #byAddress = new Map<string, Allocation>();
  readonly #byGeneration = new Map<number, Allocation>();
  /** Few, whatever the book holds: an ADD is claimed in milliseconds. */
  readonly #unclaimed = new Set<Allocation>();
  /** Before this none of them expires: asked on every allocation, so it must cost nothing. */
  #soonestMs = Number.POSITIVE_INFINITY;

  add(allocation: Allocation): void {
    this.#byOwner.set(allocation.owner, allocation);
    this.#byGeneration.set(allocation.generation, allocation);
    for (const address of allocation.addresses) {
      this.#byAddress.set(address.toString(), allocation);
    }
    this.#watchExpiry(allocation);
  }

  remove(allocation: Allocation): void {
    this.#byOwner.delete(allocation.owner);
    this.#byGeneration.delete(allocation.generation);
    this.#unclaimed.delete(allocation);
    for (const address of allocation.addresses) this.#byAddress.delete(address.toString());
  }

  ofOwner(owner: string): Allocation | undefined {
    return this.#byOwner.get(owner);
  }

  ofAddress(address: string): Allocation | undefined {
    return this.#byAddress.get(address);
  }

  ofGeneration(generation: number): Allocation | undefined {
    return this.#byGeneration.get(generation);
  }

  values(): IterableIterator<Allocation> {
    return this.#byOwner.values();
  }

  get hasUnclaimed(): boolean {
    return this.#unclaimed.size > 0;
  }

  setExpiry(allocation: Allocation, expiresAtMs: number | undefined): void {
    allocation.expiresAtMs = expiresAtMs;
    if (expiresAtMs === undefined) this.#unclaimed.delete(allocation);
    else this.#watchExpiry(allocation);
  }

  /** Expires all that is unclaimed so much earlier. */
  age(ms: number): void {
    for (const allocation of this.#unclaimed) {
      if (allocation.expiresAtMs !== undefined) allocation.expiresAtMs -= ms;
      this.#watchExpiry(allocation);
    }
  }

  /** Those whose time is up. They stay, and are named again, until they are removed or claimed. */
  expired(nowMs: number): Allocation[] {
    if (nowMs < this.#soonestMs) return [];
    const found: Allocation[] = [];
    this.#soonestMs = Number.POSITIVE_INFINITY;
    for (const allocation of this.#unclaimed) {
      const { expiresAtMs = Number.POSITIVE_INFINITY } = allocation;
      this.#soonestMs = Math.min(this.#soonestMs, expiresAtMs);
      if (expiresAtMs <= nowMs) found.push(allocation);
    }
    return found;
  }

  #watchExpiry(allocation: Allocation): void {
    if (allocation.expiresAtMs === undefined) return;
    this.#unclaimed.add(allocation);
    this.#soonestMs = Math.min(this.#soonestMs, allocation.expiresAtMs);
  }
}
