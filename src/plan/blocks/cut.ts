import type { ClusterNode } from '../../model/node.ts';
import { type Block, blockName } from '../../model/node-block.ts';
import type { Prefix } from '../../net/prefix.ts';

/** A block to be written for a node, and the pool it belongs to. */
export interface Cut {
  prefix: Prefix;
  pool: string;
  /** Cells to guard first, when the block is not of its pool's size. */
  guards: Prefix[];
  /** A block that was released by time alone and is deleted first: nothing else was free. */
  replaces?: Block;
}

/** The block as if it had been written: younger than all that exist. */
export function asWritten(node: Pick<ClusterNode, 'name' | 'uid'>, { prefix, pool }: Cut): Block {
  return {
    name: blockName(prefix),
    uid: '',
    resourceVersion: '',
    prefix,
    pool,
    nodeName: node.name,
    nodeUid: node.uid,
    phase: 'Active',
    coolingSinceMs: 0,
    guards: [],
    createdMs: Number.MAX_SAFE_INTEGER,
    deleting: false,
  };
}
