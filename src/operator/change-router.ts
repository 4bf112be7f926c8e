import type { CiliumNode } from '../model/cilium-node.ts';
import type { Pool, ReadPool } from '../model/ip-pool.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import type { NodeClaims } from '../plan/blocks/node-claims.ts';
import type { Register } from '../plan/blocks/register.ts';
import type { BlockCacheHandlers } from './block-caches.ts';
import type { ExcludedNetworks } from './excluded-networks.ts';
import type { LoadBalancer } from './load-balancer.ts';
import type { NodeReporter } from './node-reporter.ts';
import type { Projector } from './projector.ts';
import type { OperatorQueues } from './work-queue.ts';

/**
 * Which keys a change concerns: every change of a cache goes into the register
 * first, and then puts the keys of whatever it may concern into the queues. Too
 * many keys cost a glance each; a missing one would cost an outage.
 */
interface ChangeRouterOptions {
  register: Register;
  queues: OperatorQueues;
  reporter: NodeReporter;
  projector: Projector;
  excluded: ExcludedNetworks;
  loadBalancer: LoadBalancer;
}

/** A pool's status follows its blocks, but is not written more often than this. */
const poolStatusEveryMs = 1_000;
const manyEventsMs = 50;

export class ChangeRouter {
  readonly handlers: BlockCacheHandlers;
  readonly #o: ChangeRouterOptions;
  #retryUnserved: NodeJS.Timeout | undefined;
  #retryAll: NodeJS.Timeout | undefined;

  constructor(options: ChangeRouterOptions) {
    this.#o = options;
    this.handlers = this.#makeHandlers();
  }

  /** Addresses became free, or pools were redrawn: nodes that lack a block are tried again, once for many events. */
  addressSpaceChanged(): void {
    this.#retryUnserved ??= setTimeout(() => {
      this.#retryUnserved = undefined;
      for (const name of this.#o.reporter.unserved.keys()) this.#o.queues.nodes.add(name);
    }, manyEventsMs);
  }

  /** A Service network may stop a pool, and its going may free one. */
  watchingPools(change: () => void): void {
    const before = this.#o.register.poolSet.judgements;
    change();
    if (this.#o.register.poolSet.judgements !== before) this.#everythingSoon();
  }

  /** Once for many events. */
  #everythingSoon(): void {
    this.#retryAll ??= setTimeout(() => {
      this.#retryAll = undefined;
      this.everything();
    }, manyEventsMs);
  }

  /** What a node claims without a NodeBlock is said in its pools; when it goes, there is room. */
  #watchingClaims(nodeName: string, change: () => void): void {
    const { register, queues } = this.#o;
    const before = register.claimsOf(nodeName);
    change();
    const after = register.claimsOf(nodeName);
    if (sameClaims(before, after)) return;
    for (const { prefix } of [...before.kept, ...before.refused, ...after.kept, ...after.refused]) {
      const name = register.limits.poolAt(prefix)?.pool.name;
      if (name !== undefined) queues.pools.addAfter(name, poolStatusEveryMs);
    }
    if (before.kept.length > 0) this.addressSpaceChanged();
  }

  /** Every node and every pool is looked at again. */
  everything(): void {
    const { register, queues } = this.#o;
    for (const name of register.nodes.keys()) queues.nodes.add(name);
    // After the nodes: blocks record the policy of their pool, and may rest shorter or longer now.
    this.everyBlock();
    for (const { name } of register.poolSet.pools) this.#poolChanged(name);
  }

  everyBlock(): void {
    const { register, queues } = this.#o;
    for (const name of register.blocks.keys()) queues.blocks.add(name);
  }

  stop(): void {
    clearTimeout(this.#retryUnserved);
    clearTimeout(this.#retryAll);
  }

  #makeHandlers(): BlockCacheHandlers {
    const { register } = this.#o;
    return {
      pools: {
        onPut: (next, prev) => {
          if (next.read.kind === 'pool') register.putPool(next.read.pool);
          else register.removePool(next.name);
          this.#poolChanged(next.name);
          if (prev === undefined || meaningOf(next.read) !== meaningOf(prev.read))
            this.#everythingSoon();
        },
        onDelete: (last) => {
          register.removePool(last.name);
          this.#poolChanged(last.name);
          this.#everythingSoon();
        },
      },
      nodes: {
        onPut: (next, prev) => {
          this.#watchingClaims(next.name, () => register.putNode(next));
          if (prev === undefined || isChanged(next, prev)) this.#nodeChanged(next.name);
          if (prev === undefined || concernsBlocks(next, prev)) this.#blocksOf(next.name);
        },
        onDelete: (last) => {
          // A namesake may have been put in its place already.
          if (register.nodes.get(last.name)?.uid !== last.uid) return;
          this.#watchingClaims(last.name, () => register.removeNode(last.name));
          this.#o.reporter.forget(last.name);
          this.#o.projector.forget(last.name);
          // Its own addresses are no longer excluded from those of Services.
          this.#o.excluded.nodesChanged();
          this.#o.loadBalancer.addressSpaceChanged();
          this.#blocksOf(last.name);
          this.addressSpaceChanged();
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
          this.addressSpaceChanged();
        },
      },
      reports: {
        onPut: (next) => {
          this.#watchingClaims(next.name, () => register.putReport(next));
          this.#nodeAndBlocks(next.name);
        },
        onDelete: (last) => {
          this.#watchingClaims(last.name, () => register.removeReport(last.name));
          this.#nodeAndBlocks(last.name);
        },
      },
      ciliumNodes: {
        onPut: (next, prev) => {
          this.#watchingClaims(next.name, () => register.putCiliumNode(next));
          if (prev === undefined || ciliumEssence(prev) !== ciliumEssence(next)) {
            this.#nodeAndBlocks(next.name);
          }
        },
        onDelete: (last) => {
          this.#watchingClaims(last.name, () => register.removeCiliumNode(last.name));
          this.#nodeAndBlocks(last.name);
          this.addressSpaceChanged();
        },
      },
    };
  }

  #nodeChanged(name: string): void {
    this.#o.excluded.nodesChanged();
    this.#o.queues.nodes.add(name);
  }

  #blockChanged(block: Block): void {
    const { register, queues } = this.#o;
    queues.blocks.add(block.name);
    if (block.nodeName !== '') queues.nodes.add(block.nodeName);
    // What an earlier Node of the name left drains from the moment in which this one has another.
    for (const { name, phase } of register.blocksOf(block.nodeName)) {
      if (phase === 'Cooling') queues.blocks.add(name);
    }
    queues.pools.addAfter(register.poolSet.homeOf(block)?.name ?? block.pool, poolStatusEveryMs);
  }

  #nodeAndBlocks(nodeName: string): void {
    this.#o.queues.nodes.add(nodeName);
    this.#blocksOf(nodeName);
  }

  #blocksOf(nodeName: string): void {
    const { register, queues } = this.#o;
    for (const block of register.blocksOf(nodeName)) queues.blocks.add(block.name);
  }

  #poolChanged(name: string): void {
    this.#o.queues.pools.add(name);
    // A pool of blocks may now overlap one of Service addresses, or no longer.
    this.#o.loadBalancer.addressSpaceChanged();
  }
}

/** Status writes, our own above all, change a pool's version but not what it means. */
function meaningOf(read: ReadPool): string {
  if (read.kind === 'malformed') return `malformed ${read.generation}`;
  const { generation, deleting, uid }: Pool = read.pool;
  return `${generation} ${deleting} ${uid}`;
}

/** Whether what its blocks record of it changed, or whether it is in service. */
function concernsBlocks(next: ClusterNode, prev: ClusterNode): boolean {
  const essence = ({ uid, addresses, isOutOfService, isNotReady }: ClusterNode) =>
    JSON.stringify([uid, addresses, isOutOfService, isNotReady]);
  return essence(next) !== essence(prev);
}

/** Whether more changed than the kubelet's heartbeats do. */
function isChanged(next: ClusterNode, prev: ClusterNode): boolean {
  const essence = ({ uid, labels, podCidrs, annotations, addresses, condition }: ClusterNode) =>
    JSON.stringify([uid, labels, podCidrs, annotations, addresses, condition?.status]);
  return essence(next) !== essence(prev);
}

function sameClaims(a: NodeClaims, b: NodeClaims): boolean {
  const words = ({ kept, refused }: NodeClaims) =>
    [kept, refused].map((claims) => claims.map(({ prefix, source }) => `${source} ${prefix}`));
  return a === b || JSON.stringify(words(a)) === JSON.stringify(words(b));
}

/** What blocks depend on: what it lists, what its agent asks for, and what was said to the agent. */
/** Its own addresses say which block its agent serves from: until then that one is projected too. */
function ciliumEssence(cilium: CiliumNode): string {
  const { uid, podCidrs, pools, requested, internalIps, operatorError } = cilium;
  return JSON.stringify([uid, podCidrs, pools, requested, internalIps, operatorError]);
}
