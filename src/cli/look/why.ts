import { parsePrefix } from '../../net/prefix.ts';
import type { PlannedBlock } from '../../plan/blocks/allocation-plan.ts';
import { sourceNames } from '../../plan/blocks/holdings.ts';
import type { Register } from '../../plan/blocks/register.ts';
import { selectingCandidates } from '../../plan/pools/pool-candidates.ts';
import { whyPool } from '../../plan/pools/why-pool.ts';

/** Why a node gets a block, in a few words. `register` is what the plan left behind. */
export function whyBlock(register: Register): (nodeName: string, block: PlannedBlock) => string {
  const candidatesFor = selectingCandidates(register);
  return (nodeName, block) => {
    const recorded = recordsOf(register, nodeName, block.cidr).map((source) => sourceNames[source]);
    if (block.action === 'adopt') return `held by ${recorded.join(', ')}`;
    if (block.action === 'keep') {
      return block.pool === '' ? `from ${recorded[0] ?? 'its records'}` : 'registered';
    }
    const node = register.nodes.get(nodeName);
    return node === undefined ? '' : whyPool(candidatesFor(node), block.pool);
  };
}

function recordsOf(register: Register, nodeName: string, cidr: string) {
  const prefix = parsePrefix(cidr);
  if (prefix === undefined) return [];
  return [...register.holdingsOf(nodeName).bySource]
    .filter(([, held]) => held[prefix.family].some((other) => other.equals(prefix)))
    .map(([source]) => source);
}
