import type { Address } from '../../net/address.ts';
import type { Family } from '../../net/family.ts';
import { firstPlace, joined, type Span } from '../../net/span-list.ts';

/**
 * The addresses that Services hold, sorted and kept so: how many of them lie in a pool is two searches
 * for each of its ranges, and not a look at every address for every pool.
 */
export class HeldAddresses {
  readonly #sorted: Record<Family, bigint[]> = { ipv4: [], ipv6: [] };

  constructor(addresses: Iterable<Address> = []) {
    for (const address of addresses) this.add(address);
  }

  add(address: Address): void {
    const value = address.toBigInt();
    const list = this.#sorted[address.family];
    list.splice(below(list, value), 0, value);
  }

  remove(address: Address): void {
    const value = address.toBigInt();
    const list = this.#sorted[address.family];
    const at = below(list, value);
    if (list[at] === value) list.splice(at, 1);
  }

  /** How many lie in any of the ranges. */
  countIn(spans: readonly Span[]): number {
    let count = 0;
    for (const { family, first, last } of joined(spans)) {
      const list = this.#sorted[family];
      count += below(list, last + 1n) - below(list, first);
    }
    return count;
  }
}

/** How many are lower. */
const below = (sorted: readonly bigint[], value: bigint) =>
  firstPlace(sorted, (other) => other >= value);
