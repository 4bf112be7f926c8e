import type { Pool, ReadPool } from '../model/ip-pool.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import type { Register } from '../plan/blocks/register.ts';
import type { CopyHandlers } from './copies.ts';

/**
 * What comes in: every change of a copy goes into the register first, and then
 * puts the keys of whatever it may concern into the queues. Too many keys cost a
 * glance each; a missing one would cost an outage.
 */
export interface IntakeOptions {
  register: Register;
  nodes(name: string): void;
  blocks(name: string): void;
  pools(name: string, afterMs: number): void;
  /** Nodes that lack a block. */
  unserved(): Iterable<string>;
  forget(nodeName: string): void;
}

/** A pool's status follows its blocks, but is not written more often than this. */
const poolStatusEveryMs = 1_000;
const manyEventsMs = 50;

export class Intake {
  readonly handlers: CopyHandlers;
  readonly #o: IntakeOptions;
  #kick: NodeJS.Timeout | undefined;
  #kickAll: NodeJS.Timeout | undefined;

  constructor(options: IntakeOptions) {
    this.#o = options;
    this.handlers = this.#makeHandlers();
  }

  /** Land became free, or its borders moved: whoever waits is asked again, once for many events. */
  landChanged(): void {
    this.#kick ??= setTimeout(() => {
      this.#kick = undefined;
      for (const name of this.#o.unserved()) this.#o.nodes(name);
    }, manyEventsMs);
  }

  /** A node's own address, or a Service network, may stop a pool, and its going may free one. */
  watchingPools(change: () => void): void {
    const before = this.#o.register.poolSet;
    change();
    if (this.#o.register.poolSet === before) return;
    this.#kickAll ??= setTimeout(() => {
      this.#kickAll = undefined;
      this.#everything();
    }, manyEventsMs);
  }

  stop(): void {
    clearTimeout(this.#kick);
    clearTimeout(this.#kickAll);
  }

  #makeHandlers(): CopyHandlers {
    const { register } = this.#o;
    return {
      pools: {
        onPut: (next, prev) => {
          if (next.read.kind === 'pool') register.putPool(next.read.pool);
          else register.removePool(next.name);
          this.#o.pools(next.name, 0);
          if (prev === undefined || essenceOf(next.read) !== essenceOf(prev.read))
            this.#everything();
        },
        onDelete: (last) => {
          register.removePool(last.name);
          this.#o.pools(last.name, 0);
          this.#everything();
        },
      },
      nodes: {
        onPut: (next, prev) => {
          this.watchingPools(() => register.putNode(next));
          if (prev === undefined || isChanged(next, prev)) this.#o.nodes(next.name);
        },
        onDelete: (last) => {
          // A namesake may have been put in its place already.
          if (register.nodes.get(last.name)?.uid !== last.uid) return;
          this.watchingPools(() => register.removeNode(last.name));
          this.#o.forget(last.name);
          for (const block of register.blocksOf(last.name)) this.#o.blocks(block.name);
          this.landChanged();
        },
      },
      blocks: {
        onPut: (next, prev) => {
          register.putBlock(next);
          this.#blockChanged(next);
          if (prev !== undefined && prev.nodeName !== next.nodeName) this.#blockChanged(prev);
        },
        onDelete: (last) => {
          register.removeBlock(last.name);
          this.#blockChanged(last);
          this.landChanged();
        },
      },
      reports: {
        onPut: (next) => {
          register.putReport(next);
          this.#nodeAndBlocks(next.name);
        },
        onDelete: (last) => {
          register.removeReport(last.name);
          this.#nodeAndBlocks(last.name);
        },
      },
      ciliumNodes: {
        onPut: (next, prev) => {
          register.putCiliumNode(next);
          if (prev?.podCidrs.join() !== next.podCidrs.join()) this.#nodeAndBlocks(next.name);
        },
        onDelete: (last) => {
          register.removeCiliumNode(last.name);
          this.#nodeAndBlocks(last.name);
          this.landChanged();
        },
      },
    };
  }

  #blockChanged(block: Block): void {
    this.#o.blocks(block.name);
    if (block.nodeName !== '') this.#o.nodes(block.nodeName);
    this.#o.pools(this.#o.register.poolSet.homeOf(block)?.name ?? block.pool, poolStatusEveryMs);
  }

  #nodeAndBlocks(nodeName: string): void {
    this.#o.nodes(nodeName);
    for (const block of this.#o.register.blocksOf(nodeName)) this.#o.blocks(block.name);
  }

  #everything(): void {
    const { register } = this.#o;
    for (const name of register.nodes.keys()) this.#o.nodes(name);
    for (const pool of register.poolSet.pools) this.#o.pools(pool.name, 0);
  }
}

/** Status writes, our own above all, change a pool's version but not what it means. */
function essenceOf(read: ReadPool): string {
  if (read.kind === 'malformed') return `malformed ${read.generation}`;
  const { generation, deleting, uid }: Pool = read.pool;
  return `${generation} ${deleting} ${uid}`;
}

/** Whether more changed than the kubelet's heartbeats do. */
function isChanged(next: ClusterNode, prev: ClusterNode): boolean {
  const essence = ({ uid, labels, podCidrs, annotations, addresses, condition }: ClusterNode) =>
    JSON.stringify([uid, labels, podCidrs, annotations, addresses, condition?.status]);
  return essence(next) !== essence(prev);
}
