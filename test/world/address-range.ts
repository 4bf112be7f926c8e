import ipaddr from 'ipaddr.js';

/**
 * A piece of address space as a pair of numbers. The judges of this folder use
 * it instead of src/net: a judge that shares the accused's arithmetic would
 * repeat its mistakes.
 */
export interface AddressRange {
  family: 'ipv4' | 'ipv6';
  first: bigint;
  last: bigint;
  length: number;
}

const surveyed = new Map<string, AddressRange>();

/** Remembered: an audit asks for the same few thousand over and over. */
export function rangeOf(cidr: string): AddressRange {
  const known = surveyed.get(cidr) ?? survey(cidr);
  surveyed.set(cidr, known);
  return known;
}

function survey(cidr: string): AddressRange {
  const [address, length] = ipaddr.parseCIDR(cidr);
  const bytes = address.toByteArray();
  const bits = bytes.length * 8;
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  const size = 1n << BigInt(bits - length);
  const first = value - (value % size);
  return { family: bits === 32 ? 'ipv4' : 'ipv6', first, last: first + size - 1n, length };
}

export function touch(a: AddressRange, b: AddressRange): boolean {
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

export function lies(inner: AddressRange, outer: AddressRange): boolean {
  return inner.family === outer.family && inner.first >= outer.first && inner.last <= outer.last;
}

/** Every pair that overlaps: sorted by the first address, each compared with what is still open. */
export function touchingPairs<T extends { range: AddressRange }>(
  pieces: readonly T[],
): Array<[T, T]> {
  const found: Array<[T, T]> = [];
  for (const family of ['ipv4', 'ipv6'] as const) {
    const sorted = pieces
      .filter(({ range }) => range.family === family)
      .sort((a, b) => (a.range.first < b.range.first ? -1 : a.range.first > b.range.first ? 1 : 0));
    let open: T[] = [];
    for (const piece of sorted) {
      open = open.filter(({ range }) => range.last >= piece.range.first);
      for (const other of open) found.push([other, piece]);
      open.push(piece);
    }
  }
  return found;
}

/** How many cells of a size a range has, less those that any of the pieces touches. */
export function freeCells(
  range: AddressRange,
  length: number,
  taken: readonly AddressRange[],
): number {
  const bits = range.family === 'ipv4' ? 32 : 128;
  const cell = 1n << BigInt(bits - length);
  const cells = new Set<bigint>();
  for (const piece of taken) {
    if (!touch(piece, range)) continue;
    // Two CIDRs that touch: one lies in the other.
    const { first, last } = lies(piece, range) ? piece : range;
    for (let at = first / cell; at <= last / cell; at++) cells.add(at);
  }
  return Number((range.last - range.first + 1n) / cell) - cells.size;
}
