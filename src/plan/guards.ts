import type { Pool } from '../model/ip-pool.ts';
import type { Prefix } from '../net/prefix.ts';

/**
 * One name, one owner — that is what the API server can promise, and it protects
 * blocks of one size. An adopted block of another size (a /27 in a pool of /24,
 * or a /23) has another name than the cells it overlaps, so a leader that has not
 * heard of it could still create one of those. Therefore every cell that an
 * odd-sized block touches is taken first, by a NodeBlock of phase Guard.
 */
export function cellsToGuard(prefix: Prefix, pool: Pool): Prefix[] | 'too many' {
  const size = pool.blockSize[prefix.family];
  if (size === undefined || size === prefix.length) return [];
  if (prefix.length > size) return [prefix.parent(size)];
  const count = prefix.countOf(size);
  if (count > mostCells) return 'too many';
  return Array.from({ length: count }, (_, at) => prefix.subPrefix(size, at));
}

/** A /14 among /24: beyond this a guard per cell would be absurd. */
export const mostCells = 1024;
