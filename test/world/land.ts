import ipaddr from 'ipaddr.js';

/**
 * A piece of address space as a pair of numbers. The judges of this folder use
 * it instead of src/net: a judge that shares the accused's arithmetic would
 * repeat its mistakes.
 */
export interface Land {
  family: 'ipv4' | 'ipv6';
  first: bigint;
  last: bigint;
  length: number;
}

const surveyed = new Map<string, Land>();

/** Remembered: an audit asks for the same few thousand over and over. */
export function landOf(cidr: string): Land {
  const known = surveyed.get(cidr) ?? survey(cidr);
  surveyed.set(cidr, known);
  return known;
}

function survey(cidr: string): Land {
  const [address, length] = ipaddr.parseCIDR(cidr);
  const bytes = address.toByteArray();
  const bits = bytes.length * 8;
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  const size = 1n << BigInt(bits - length);
  const first = value - (value % size);
  return { family: bits === 32 ? 'ipv4' : 'ipv6', first, last: first + size - 1n, length };
}

export function touch(a: Land, b: Land): boolean {
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

export function lies(inner: Land, outer: Land): boolean {
  return inner.family === outer.family && inner.first >= outer.first && inner.last <= outer.last;
}

/** Every pair that overlaps: sorted by the first address, each compared with what is still open. */
export function touchingPairs<T extends { land: Land }>(pieces: readonly T[]): Array<[T, T]> {
  const found: Array<[T, T]> = [];
  for (const family of ['ipv4', 'ipv6'] as const) {
    const sorted = pieces
      .filter(({ land }) => land.family === family)
      .sort((a, b) => (a.land.first < b.land.first ? -1 : a.land.first > b.land.first ? 1 : 0));
    let open: T[] = [];
    for (const piece of sorted) {
      open = open.filter(({ land }) => land.last >= piece.land.first);
      for (const other of open) found.push([other, piece]);
      open.push(piece);
    }
  }
  return found;
}

/** How many cells of a size a range has, less those that any of the pieces touches. */
export function freeCells(range: Land, length: number, taken: readonly Land[]): number {
  const bits = range.family === 'ipv4' ? 32 : 128;
  const cell = 1n << BigInt(bits - length);
  const cells = new Set<bigint>();
  for (const land of taken) {
    if (!touch(land, range)) continue;
    // Two CIDRs that touch: one lies in the other.
    const { first, last } = lies(land, range) ? land : range;
    for (let at = first / cell; at <= last / cell; at++) cells.add(at);
  }
  return Number((range.last - range.first + 1n) / cell) - cells.size;
}
