import type { Pool } from '../../model/ip-pool.ts';
import type { Block } from '../../model/node-block.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

/**
 * One name, one owner — that is what the API server can promise, and it protects
 * blocks of one size. An adopted block of another size (a /27 in a pool of /24,
 * or a /23) has another name than the cells it overlaps, so a leader that has not
 * seen it could still create one of those. Therefore every cell that an
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

/**
 * The blocks that a guard lists and that a newcomer to its cell overlaps. A guard
 * is shared by all odd-sized blocks of its cell, so it keeps those apart only
 * because its list does: who joins must first ask the API server for each of
 * these (a cache may not know them). One that exists means: learn it, and decide
 * again; one that does not is an entry that outlived its block.
 */
export function rivalsInGuard(guard: Block, newcomer: Prefix): Prefix[] {
  return guard.guards.flatMap((text) => {
    const listed = parsePrefix(text);
    if (listed === undefined || listed.equals(newcomer)) return [];
    return listed.overlaps(newcomer) ? [listed] : [];
  });
}
