import { selects } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { gaveBack } from '../../model/node-report.ts';
import { type Family, families } from '../../net/family.ts';
import { allHoldings, trustedHoldings, usedHoldings } from './holdings.ts';
import type { Register } from './register.ts';
import { isOfAnotherMachine } from './same-machine.ts';

/** What becomes of the blocks that are registered in a node's name. */
export interface Standing {
  keep: Block[];
  /** Of an earlier incarnation of the node, or released too early: they are its own again. */
  rebind: Block[];
  /** Beyond what the node should have, and no record names them. */
  surplus: Block[];
}

/** Which of the blocks in the node's name stay, come back, or are too many. */
export function standingOf(register: Register, node: ClusterNode, byDemand: boolean): Standing {
  const standing: Standing = { keep: [], rebind: [], surplus: [] };
  const blocks = register
    .blocksOf(node.name)
    .filter((block) => !block.deleting && !isOfAnotherMachine(node, block));
  for (const family of families) {
    const own = blocks.filter((block) => block.prefix.family === family);
    const live = own.filter((block) => block.phase !== 'Cooling');
    const { evident, back } = comebacks(register, node, family, own, byDemand || live.length === 0);
    if (byDemand) place(node, [...live, ...back], standing);
    else if (live.length > 0) {
      // What drains stays until it is empty, and has another beside it in the meantime.
      const [draining, active] = partition(live, ({ phase }) => phase === 'Draining');
      const named = evident.filter((block) => !draining.includes(block));
      // More than one is right only if records outside the register speak of it
      // too (several adopted blocks); otherwise two leaders cut at once.
      const stay = named.length > 0 ? named : active.slice(0, 1);
      place(node, [...stay, ...draining], standing);
      standing.surplus.push(...active.filter((block) => !stay.includes(block)));
    } else place(node, evident.length > 0 ? evident : back.slice(0, 1), standing);
  }
  return standing;
}

/**
 * `evident`: blocks that records outside the register say the node uses; `back`:
 * cooling blocks that are the node's again. A block that cools although the same
 * node's records still name it was released on stale knowledge (two leaders that saw
 * different records), unless the node's own agent gave it back. What an earlier
 * incarnation held comes back, if there is room, unless the node's records speak
 * of another block by now.
 *
 * An agent uses whatever it was given, so its report tells live blocks apart only
 * where it leaves some of them out.
 */
function comebacks(
  register: Register,
  node: ClusterNode,
  family: Family,
  own: readonly Block[],
  hasRoom: boolean,
): { evident: Block[]; back: Block[] } {
  const holdings = register.holdingsOf(node.name);
  const records = allHoldings(holdings, 'report');
  const used = usedHoldings(holdings);
  const isUsed = ({ prefix }: Block) => used.some((one) => one.equals(prefix));
  const tellsApart = own.some((block) => block.phase !== 'Cooling' && !isUsed(block));
  const speakOfAnother = trustedHoldings(holdings, family).length > 0;
  const report = register.reports.get(node.name);
  const evident: Block[] = [];
  const back: Block[] = [];
  for (const block of own) {
    const isNamed =
      records.some((held) => held.equals(block.prefix)) ||
      ((tellsApart || block.phase === 'Cooling') && isUsed(block));
    if (block.phase !== 'Cooling') {
      if (isNamed) evident.push(block);
    } else if (block.nodeUid === node.uid ? isNamed && !gaveBack(report, block) : hasRoom) {
      if (isNamed) evident.push(block);
      else if (speakOfAnother || !poolStillSelects(register, node, block)) continue;
      back.push(block);
    }
  }
  back.sort((a, b) => b.coolingSinceMs - a.coolingSinceMs || a.prefix.compare(b.prefix));
  return { evident, back };
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

function place(node: ClusterNode, blocks: readonly Block[], standing: Standing): void {
  for (const block of blocks) {
    if (block.nodeUid === node.uid && block.phase !== 'Cooling') standing.keep.push(block);
    else standing.rebind.push(block);
  }
}

function poolStillSelects(register: Register, node: ClusterNode, block: Block): boolean {
  const pool = register.poolSet.homeOf(block);
  return pool !== undefined && selects(pool.selector, node.labels);
}
