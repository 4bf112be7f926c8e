import type { Address } from '../../net/address.ts';
import { addressCount, type Prefix, usableAddresses } from '../../net/prefix.ts';
import { usableByDefault } from '../blocks/demand.ts';
import { PodAddressBitmap } from './pod-address-bitmap.ts';

/** A block of the node, as pod addresses are cut from it. */
export interface PodBlock {
  prefix: Prefix;
  /** A draining block keeps what it gave and gives nothing new. */
  isDraining: boolean;
}

/**
 * One block with its bits. What no pod may have (network, gateway, last,
 * reserved ranges) is never looked at twice: the roles are outside
 * [lowest, highest], the reserved ranges are jumped over.
 */
export class PodAddressBlock implements PodBlock {
  readonly prefix: Prefix;
  readonly isDraining: boolean;
  readonly #bits = new PodAddressBitmap();
  readonly #first: bigint;
  readonly #lowest: bigint;
  readonly #highest: bigint;
  /** Reserved ranges inside the block, as offsets, sorted, apart from each other. */
  readonly #reserved: ReadonlyArray<readonly [from: bigint, to: bigint]>;

  constructor(block: PodBlock, reserved: readonly Prefix[]) {
    this.prefix = block.prefix;
    this.isDraining = block.isDraining;
    const all = addressCount(block.prefix);
    this.#first = block.prefix.first().toBigInt();
    // A block of two or of one has no roles (RFC 3021, RFC 6164); above, 0 is the
    // network (IPv6: the routers' anycast, RFC 4291 §2.6.1) and 1 the gateway.
    this.#lowest = all <= 2n ? 0n : 2n;
    this.#highest = all <= 2n ? all - 1n : all - 2n;
    this.#reserved = this.#rangesOf(reserved);
  }

  /** The address the block keeps for the node's end of every pod; none in a block of two or one. */
  get gateway(): Address | undefined {
    return this.#lowest === 0n ? undefined : this.prefix.first().plus(1);
  }

  /** As people count: all but network and last, so a /24 has 254, one of them the gateway. */
  get total(): bigint {
    return usableAddresses(this.prefix, usableByDefault);
  }

  /** What pods can have of it. */
  get forPods(): bigint {
    let count = this.#highest - this.#lowest + 1n;
    for (const [from, to] of this.#reserved) count -= to - from + 1n;
    return count;
  }

  get taken(): number {
    return this.#bits.taken;
  }

  contains(address: Address): boolean {
    return this.prefix.contains(address);
  }

  offsetOf(address: Address): bigint {
    return address.toBigInt() - this.#first;
  }

  /** May a pod have it at all? */
  isForPods(address: Address): boolean {
    const offset = this.offsetOf(address);
    return (
      offset >= this.#lowest && offset <= this.#highest && this.#reservedEnd(offset) === undefined
    );
  }

  isTaken(address: Address): boolean {
    return this.#bits.has(this.offsetOf(address));
  }

  take(address: Address): void {
    this.#bits.take(this.offsetOf(address));
  }

  free(address: Address): void {
    this.#bits.free(this.offsetOf(address));
  }

  /** The first free address with an offset in [from, to]; all of the block if they are left out. */
  nextFree(from: bigint = this.#lowest, to: bigint = this.#highest): Address | undefined {
    const end = to < this.#highest ? to : this.#highest;
    let offset: bigint | undefined = from < this.#lowest ? this.#lowest : from;
    while (offset !== undefined && offset <= end) {
      offset = this.#bits.nextFree(offset, end);
      if (offset === undefined) return undefined;
      const reservedEnd = this.#reservedEnd(offset);
      if (reservedEnd === undefined) return this.prefix.first().plus(offset);
      offset = reservedEnd + 1n;
    }
    return undefined;
  }

  #reservedEnd(offset: bigint): bigint | undefined {
    return this.#reserved.find(([from, to]) => from <= offset && offset <= to)?.[1];
  }

  #rangesOf(reserved: readonly Prefix[]): Array<readonly [bigint, bigint]> {
    const ranges: Array<readonly [bigint, bigint]> = [];
    const inside = reserved.filter((range) => range.overlaps(this.prefix));
    for (const range of inside.sort((a, b) => a.compare(b))) {
      const from = this.offsetOf(range.first());
      const to = this.offsetOf(range.last());
      let [low, high] = [this.#lowest, this.#highest];
      if (from > low) low = from;
      if (to < high) high = to;
      const before = ranges.at(-1);
      // Sorted larger first, and blocks nest: what begins inside the one before ends in it too.
      if (low <= high && (before === undefined || low > before[1])) ranges.push([low, high]);
    }
    return ranges;
  }
}
