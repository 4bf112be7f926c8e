import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { Prefix } from '../../net/prefix.ts';
import { allHoldings, usedHoldings } from './holdings.ts';
import type { Register } from './register.ts';

/**
 * What became of blocks that were registered before the API server's store went
 * back in time, and were not after it.
 */
export interface LostBlock {
  block: Block;
  /** registered: under the same node again. disputed: under another. missing: under none. */
  now: 'registered' | 'disputed' | 'missing';
  /** In words, for the Event and the log. */
  detail: string;
}

/** `before`: blocks of nodes in use when the store was found to be another. */
export function lostBlocks(register: Register, before: Iterable<Block>): LostBlock[] {
  const lost: LostBlock[] = [];
  for (const block of before) {
    const found = register.blocks.get(block.name);
    if (found?.uid === block.uid || block.nodeName === '' || block.phase === 'Cooling') continue;
    const what = `the register lost ${block.prefix} of ${block.nodeName}, as after a restore of etcd from a backup`;
    if (found?.nodeName === block.nodeName) {
      lost.push({ block, now: 'registered', detail: `${what}; it is registered again` });
    } else if (found !== undefined) {
      const whose = found.nodeName === '' ? 'a guard' : found.nodeName;
      lost.push({ block, now: 'disputed', detail: `${what}, and gives it to ${whose}` });
    } else {
      const isFree = register.claims.overlapping(block.prefix).length === 0;
      const state = isFree
        ? 'no agent says that it uses it; it is free'
        : 'it is kept for the agent that says that it uses it';
      lost.push({ block, now: 'missing', detail: `${what}; ${state}` });
    }
  }
  return lost;
}

/**
 * Whether a block that a node's agent uses was in the register once: the agent knows
 * the NodeBlock's uid, or no other record names the block. (An agent that served
 * Node.spec before there was a register uses blocks that are merely to be adopted.)
 */
export function wasRegistered(register: Register, node: ClusterNode, prefix: Prefix): boolean {
  const holdings = register.holdingsOf(node.name);
  if (!usedHoldings(holdings).some((used) => used.equals(prefix))) return false;
  const use = register.reports
    .get(node.name)
    ?.uses?.find(({ cidr, uid }) => uid !== undefined && cidr === prefix.toString());
  return use !== undefined || !allHoldings(holdings, 'report').some((one) => one.equals(prefix));
}

/** What the report of a former Node of the name uses, and nobody has in the register. */
export function lostUsesOfFormer(register: Register, nodeName: string): Prefix[] {
  return register.formerUses(nodeName).filter((prefix) => holdersOf(register, prefix).length === 0);
}

/** Names of the nodes with registered blocks there, in whatever phase. */
function holdersOf(register: Register, prefix: Prefix): string[] {
  return register.claims.overlapping(prefix).flatMap(({ owner, prefix: theirs }) => {
    if (!owner.startsWith('node/')) return [];
    const name = owner.slice('node/'.length);
    return register.blocksOf(name).some((block) => block.prefix.equals(theirs)) ? [name] : [];
  });
}
