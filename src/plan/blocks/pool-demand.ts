import type { CiliumNode } from '../../model/cilium-node.ts';
import { selects } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { Reason } from '../../model/reasons.ts';
import { type Family, families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { hostAddresses } from '../pod-address/block-addresses.ts';
import { type Assignment, lastResort, nextBlock, poolObstacle } from './assign.ts';
import { mostBlocksOfNode } from './claim-limits.ts';
import type { Cut } from './cut.ts';
import { mostCutsAtOnce } from './demand.ts';
import type { BlockRefusal } from './finding.ts';
import type { Register } from './register.ts';

/**
 * Mode multi-pool: Cilium's agent asks for addresses of pools by name, in
 * CiliumNode.spec.ipam.pools.requested, and gets blocks of the IPPool of that name. A
 * pool and a family that cannot be served do not keep the others from being served:
 * the agent waits for each by itself.
 *
 * Addresses are counted as the agent counts them (`hostAddresses`). If we counted fewer,
 * it would drop the block that we gave beyond its own sum, and we would give it again.
 */
export function growByPool(
  register: Register,
  node: ClusterNode,
  served: ReadonlySet<Family> | 'auto',
  held: ReadonlyArray<Block | Cut>,
): Assignment {
  const cilium = register.ciliumNodes.get(node.name);
  const cuts: Cut[] = [];
  const refused: BlockRefusal[] = [];
  const kept = held.filter(({ prefix }) => !register.hasLetGo({ nodeName: node.name, prefix }));
  try {
    for (const { pool, needed } of cilium?.requested ?? []) {
      for (const family of families) {
        if (served !== 'auto' && !served.has(family)) continue;
        while (cuts.length < mostCutsAtOnce) {
          const own = [...kept, ...cuts].filter(
            (block) =>
              block.prefix.family === family && askedPool(register, cilium, block) === pool,
          );
          if (addressesOf(own) >= BigInt(needed[family])) break;
          const next = cutOf(register, node, pool, family, own.length);
          if (next.kind === 'refused') {
            refused.push({ family, reason: next.reason, detail: next.detail });
            break;
          }
          cuts.push(next.cut);
          register.reserve(node.name, next.cut.prefix);
        }
      }
    }
  } finally {
    // Deciding leaves no trace; the actor reserves what it goes on to write.
    for (const { prefix } of cuts) register.unreserve(node.name, prefix);
  }
  return { cuts, refused };
}

/**
 * The pool that a block counts for: the one that the CiliumNode lists it under, because
 * the agent keeps its pods' addresses by that name; else the pool in which it lies.
 */
export function askedPool(
  register: Register,
  cilium: CiliumNode | undefined,
  block: { prefix: Prefix; pool: string },
): string {
  const listed = cilium?.pools?.find(({ cidrs }) =>
    cidrs.some((text) => parsePrefix(text)?.equals(block.prefix)),
  );
  return listed?.pool ?? register.poolSet.homeOf(block)?.name ?? block.pool;
}

function addressesOf(blocks: ReadonlyArray<{ prefix: Prefix }>): bigint {
  return blocks.reduce((sum, { prefix }) => sum + hostAddresses(prefix), 0n);
}

type Next = { kind: 'cut'; cut: Cut } | { kind: 'refused'; reason: Reason; detail: string };

function cutOf(
  register: Register,
  node: ClusterNode,
  name: string,
  family: Family,
  own: number,
): Next {
  const refuse = (reason: Reason, detail: string): Next => ({ kind: 'refused', reason, detail });
  const asks = `Cilium's agent of ${node.name} asks for ${family} addresses of pool ${name}`;
  const pool = register.poolSet.get(name);
  if (pool === undefined) {
    return refuse('NoPoolSelectsNode', `${asks}: there is no IPPool of that name`);
  }
  if (!selects(pool.selector, node.labels)) {
    return refuse('NoPoolSelectsNode', `${asks}: IPPool ${name} does not select the node`);
  }
  if (!pool.cidrs.some((cidr) => cidr.family === family)) {
    return refuse('FamilyNotServed', `${asks}: IPPool ${name} has no ${family} CIDR`);
  }
  const obstacle = poolObstacle(register, pool);
  if (obstacle !== undefined) return refuse(obstacle.reason, `${asks}: ${obstacle.detail}`);
  const most = mostBlocksOfNode(pool, family, true);
  if (own >= most) {
    const detail = `${asks}: it holds ${own} blocks of it, as many as one node may (maxBlocksPerNode)`;
    return refuse('BlockLimitReached', detail);
  }
  const free = nextBlock(register, pool, family);
  const replaces = free === undefined ? lastResort(register, pool, family) : undefined;
  const prefix = free ?? replaces?.prefix;
  if (prefix === undefined) {
    return refuse('PoolExhausted', `${asks}: IPPool ${name} has no free ${family} block`);
  }
  const cut = { prefix, pool: name, guards: [], ...(replaces ? { replaces } : {}) };
  return { kind: 'cut', cut };
}
