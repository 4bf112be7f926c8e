import type { Address } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import { gatewayOf, hostAddresses, podRange } from './block-addresses.ts';
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
    this.#first = block.prefix.first().toBigInt();
    const { lowest, highest } = podRange(block.prefix);
    this.#lowest = lowest;
    this.#highest = highest;
    this.#reserved = this.#rangesOf(reserved);
  }

  get gateway(): Address | undefined {
    return gatewayOf(this.prefix);
  }

  /** As people count: all but network and last, so a /24 has 254, one of them the gateway. */
  get total(): bigint {
    return hostAddresses(this.prefix);
  }

  /** What pods cannot have of it because this node reserves it. */
  get reserved(): bigint {
    return this.#reserved.reduce((sum, [from, to]) => sum + to - from + 1n, 0n);
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
