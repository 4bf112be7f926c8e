import type { Prefix } from '../../net/prefix.ts';

/** A block to be written for a node, and the pool it belongs to. */
export interface Cut {
  prefix: Prefix;
  pool: string;
  /** Cells to guard first, when the block is not of its pool's size. */
  guards: Prefix[];
}
