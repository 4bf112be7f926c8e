import type { Block } from '../../model/node-block.ts';

const none: ReadonlySet<Block> = new Set();

/** The blocks of each node, and of each pool: where a block lies now, whatever it was cut from. */
export class BlockLists {
  readonly #byNode = new Map<string, Set<Block>>();
  readonly #byPool = new Map<string, Set<Block>>();
  /** The pool each block is listed under, by the block's name. */
  readonly #pools = new Map<string, string>();

  ofNode(name: string): ReadonlySet<Block> {
    return this.#byNode.get(name) ?? none;
  }

  ofPool(name: string): ReadonlySet<Block> {
    return this.#byPool.get(name) ?? none;
  }

  /** Lists it; or lists it under another pool. */
  put(block: Block, pool: string): void {
    const before = this.#pools.get(block.name);
    if (before !== undefined && before !== pool) drop(this.#byPool, before, block);
    this.#pools.set(block.name, pool);
    add(this.#byPool, pool, block);
    add(this.#byNode, block.nodeName, block);
  }

  remove(block: Block): void {
    drop(this.#byNode, block.nodeName, block);
    drop(this.#byPool, this.#pools.get(block.name) ?? block.pool, block);
    this.#pools.delete(block.name);
  }
}

function add(lists: Map<string, Set<Block>>, key: string, block: Block): void {
  const found = lists.get(key);
  if (found === undefined) lists.set(key, new Set([block]));
  else found.add(block);
}

function drop(lists: Map<string, Set<Block>>, key: string, block: Block): void {
  const found = lists.get(key);
  found?.delete(block);
  if (found?.size === 0) lists.delete(key);
}
