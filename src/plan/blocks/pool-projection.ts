import type { CiliumNode } from '../../model/cilium-node.ts';
import type { Block } from '../../model/node-block.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { askedPool } from './pool-demand.ts';
import type { PatchOperation, Projection } from './projection.ts';
import type { Register } from './register.ts';

/**
 * Mode multi-pool: the node's blocks in CiliumNode.spec.ipam.pools.allocated, by pool.
 *
 * Two write that list: whoever allocates adds blocks, and the agent drops those that it
 * has emptied. So blocks are only ever added here. What the list has beyond the register
 * stays (its pods live there, and it is adopted or refused by itself), and what the agent
 * dropped is not added again. The patch tests the version of the whole object: an agent
 * that dropped a block meanwhile must not get it back by a late write.
 *
 * A CiliumNode is not made here: without an agent that asks there is nothing to write.
 */
export function projectOnPools(
  register: Register,
  cilium: CiliumNode | undefined,
  blocks: readonly Block[],
): Projection {
  if (cilium === undefined) return { kind: 'none' };
  const listed = new Set((cilium.poolCidrs ?? []).map((text) => parsePrefix(text)?.toString()));
  const missing = blocks.filter(
    (block) => !listed.has(block.prefix.toString()) && !register.hasLetGo(block),
  );
  if (missing.length === 0) return { kind: 'none' };
  const pools = new Map<string, string[]>();
  const add = (pool: string, cidrs: readonly string[]) =>
    pools.set(pool, [...(pools.get(pool) ?? []), ...cidrs]);
  for (const { pool, cidrs } of cilium.pools ?? []) add(pool, cidrs);
  for (const block of missing) add(askedPool(register, cilium, block), [block.prefix.toString()]);
  const allocated = [...pools]
    .map(([pool, cidrs]) => ({ pool, cidrs }))
    .sort((a, b) => (a.pool < b.pool ? -1 : 1));
  const { path, value } = placeOf(cilium, allocated);
  const operations: PatchOperation[] = [
    { op: 'test', path: '/metadata/uid', value: cilium.uid },
    { op: 'test', path: '/metadata/resourceVersion', value: cilium.resourceVersion },
    { op: 'add', path, value },
  ];
  return { kind: 'patch', operations, overwrites: [] };
}

function placeOf(cilium: CiliumNode, allocated: unknown): { path: string; value: unknown } {
  if (!cilium.hasSpec) return { path: '/spec', value: { ipam: { pools: { allocated } } } };
  if (!cilium.hasIpam) return { path: '/spec/ipam', value: { pools: { allocated } } };
  if (!cilium.hasPools) return { path: '/spec/ipam/pools', value: { allocated } };
  return { path: '/spec/ipam/pools/allocated', value: allocated };
}
