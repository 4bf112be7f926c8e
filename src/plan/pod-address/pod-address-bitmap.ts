/**
 * Which addresses of one block are taken, as pages of 256 bits that exist only
 * where something is taken: a /24 is one page, and an IPv6 /64 with ten pods is
 * one page too. An offset is the distance from the block's first address.
 */
const pageBits = 8n;
const pageSize = 1 << Number(pageBits);
const wordsPerPage = pageSize / 32;

export class PodAddressBitmap {
  readonly #pages = new Map<bigint, Uint32Array>();
  #taken = 0;

  get taken(): number {
    return this.#taken;
  }

  has(offset: bigint): boolean {
    const page = this.#pages.get(offset >> pageBits);
    if (page === undefined) return false;
    const bit = Number(BigInt.asUintN(8, offset));
    return (page[bit >>> 5]! & (1 << (bit & 31))) !== 0;
  }

  /** Taking twice is once: a restart is a replay. */
  take(offset: bigint): void {
    const number = offset >> pageBits;
    let page = this.#pages.get(number);
    if (page === undefined) {
      page = new Uint32Array(wordsPerPage);
      this.#pages.set(number, page);
    }
    const bit = Number(BigInt.asUintN(8, offset));
    const before = page[bit >>> 5]!;
    page[bit >>> 5] = before | (1 << (bit & 31));
    if (page[bit >>> 5] !== before) this.#taken++;
  }

  free(offset: bigint): void {
    if (!this.has(offset)) return;
    const number = offset >> pageBits;
    const page = this.#pages.get(number)!;
    const bit = Number(BigInt.asUintN(8, offset));
    page[bit >>> 5]! &= ~(1 << (bit & 31));
    this.#taken--;
    if (page.every((word) => word === 0)) this.#pages.delete(number);
  }

  /** The first free offset in [from, to], or undefined. A page that is not there is free whole. */
  nextFree(from: bigint, to: bigint): bigint | undefined {
    let offset = from;
    while (offset <= to) {
      const page = this.#pages.get(offset >> pageBits);
      if (page === undefined) return offset;
      const start = offset & ~(BigInt(pageSize) - 1n);
      for (let bit = Number(offset - start); bit < pageSize; bit++) {
        const word = page[bit >>> 5]!;
        if (word === 0xffffffff) {
          bit |= 31;
          continue;
        }
        if ((word & (1 << (bit & 31))) !== 0) continue;
        const found = start + BigInt(bit);
        return found <= to ? found : undefined;
      }
      offset = start + BigInt(pageSize);
    }
    return undefined;
  }
}
