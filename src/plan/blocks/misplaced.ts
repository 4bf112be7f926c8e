import { selects } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import { type Block, blockName } from '../../model/node-block.ts';
import type { Cut } from './cut.ts';
import type { Finding } from './finding.ts';
import { cellsToGuard } from './guards.ts';
import type { Register } from './register.ts';
import type { Standing } from './standing.ts';

/** Registered blocks that are not as they should be: kept, and reported. */
export function misplaced(register: Register, node: ClusterNode, standing: Standing): Finding[] {
  const found: Finding[] = standing.surplus.map((block) => ({
    reason: 'SurplusBlock',
    nodes: [node.name],
    cidr: block.prefix.toString(),
    detail: `${node.name} holds ${block.prefix}, more than it should; no record names it, so it is released`,
  }));
  for (const block of [...standing.keep, ...standing.rebind]) {
    const cidr = block.prefix.toString();
    for (const other of rivals(register, block)) {
      const detail = `${cidr} of ${node.name} overlaps ${other.prefix} of ${other.nodeName}, and both are registered`;
      found.push({
        reason: 'OverlappingBlocks',
        nodes: [node.name, other.nodeName],
        cidr,
        detail,
      });
    }
    const pool = register.poolSet.homeOf(block);
    if (pool === undefined) {
      const detail = `${cidr} of ${node.name} was cut from ${block.pool}, but lies in no pool now`;
      found.push({ reason: 'OutsidePools', nodes: [node.name], cidr, detail });
    } else if (!selects(pool.selector, node.labels)) {
      const detail = `${node.name} keeps ${cidr} of pool ${pool.name}, which no longer selects it, until it is drained`;
      found.push({ reason: 'PoolNoLongerSelects', nodes: [node.name], cidr, detail });
    }
  }
  return found;
}

/**
 * Registered blocks of other nodes that overlap this one. Names keep blocks of one
 * size apart; what is left is a block made by hand, or by a leader that believed in
 * a pool of another block size.
 */
function rivals(register: Register, block: Block): Block[] {
  return register.claims.overlapping(block.prefix).flatMap(({ owner, prefix }) => {
    const name = owner.slice('node/'.length);
    if (!owner.startsWith('node/') || name === block.nodeName) return [];
    return register.blocksOf(name).filter((other) => other.prefix.equals(prefix));
  });
}

/**
 * Kept blocks that have become odd because the block size around them is another
 * now (a changed mask, another mode): see guards.ts. A cell that a node holds is
 * in dispute, and a dispute is a finding.
 */
export function unguardedCells(register: Register, standing: Standing): Cut[] {
  return [...standing.keep, ...standing.rebind].flatMap((block) => {
    const pool = register.poolSet.homeOf(block);
    const cells = pool === undefined ? [] : cellsToGuard(block.prefix, pool);
    if (pool === undefined || cells === 'too many') return [];
    const guards = cells.filter((cell) => {
      const found = register.blocks.get(blockName(cell));
      if (found?.phase === 'Guard') return !found.guards.includes(block.prefix.toString());
      return found === undefined;
    });
    return guards.length === 0 ? [] : [{ prefix: block.prefix, pool: pool.name, guards }];
  });
}
