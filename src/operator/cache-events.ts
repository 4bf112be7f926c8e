import type { CiliumNode } from '../model/cilium-node.ts';
import type { KeptPool, WitnessReport } from '../model/cluster-kinds.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import type { BlockCacheHandlers } from './block-caches.ts';
import { HandlerList } from './handler-list.ts';

/** The changes of all caches that blocks are decided by. */
export class CacheEvents implements BlockCacheHandlers {
  readonly pools = new HandlerList<KeptPool>();
  readonly nodes = new HandlerList<ClusterNode>();
  readonly blocks = new HandlerList<Block>();
  readonly reports = new HandlerList<WitnessReport>();
  readonly ciliumNodes = new HandlerList<CiliumNode>();

  add(listener: Partial<BlockCacheHandlers>): void {
    this.pools.add(listener.pools);
    this.nodes.add(listener.nodes);
    this.blocks.add(listener.blocks);
    this.reports.add(listener.reports);
    this.ciliumNodes.add(listener.ciliumNodes);
  }
}
