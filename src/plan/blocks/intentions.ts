import type { Block } from '../../model/node-block.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { compareText } from '../pools/pool-set.ts';
import { type AllocationPlan, planAllocation } from './allocation-plan.ts';
import { decideBlock } from './block-life.ts';
import { decideNode, type Rules } from './decide-node.ts';
import { projectOnPools } from './pool-projection.ts';
import { type ProjectionSwitches, projectOnCiliumNode, projectOnNode } from './projection.ts';
import type { Register } from './register.ts';
import { witnessWords } from './witness.ts';

/** One write that an operator would make now, or that it would refuse to make. */
export interface Intention {
  action: IntendedAction;
  node: string;
  cidr: string;
  pool: string;
  detail: string;
}

export const intendedActions = [
  'adopt',
  'assign',
  'return',
  'guard',
  'drain',
  'cool',
  'free',
  'project',
  'refuse',
] as const;
export type IntendedAction = (typeof intendedActions)[number];

export interface IntentionRules extends Rules {
  switches: ProjectionSwitches;
}

/** Everything an operator that led now would do, in its order. The register is changed as if it had. */
export function planIntentions(
  register: Register,
  rules: IntentionRules,
): { intentions: Intention[]; plan: AllocationPlan } {
  const found: Intention[] = [];
  const order = [...register.nodes.values()]
    .sort((a, b) => a.createdMs - b.createdMs || compareText(a.name, b.name))
    .map(({ name }) => name);
  for (const block of register.blocks.values()) {
    const step = decideBlock(register, block, block.restedSeconds ?? 0, rules.byDemand);
    if (step.kind === 'cool') {
      const detail = step.nodeGone ? 'its node is gone' : 'its node released it';
      found.push(aboutBlock('cool', block, detail));
    } else if (step.kind === 'drain') {
      found.push(aboutBlock('drain', block, 'its node is there again, with another block'));
    } else if (step.kind === 'free') {
      found.push(
        aboutBlock(
          'free',
          block,
          block.released === undefined
            ? 'it guards nothing'
            : `its cool-down is over (${witnessWords(block.released)})`,
        ),
      );
    }
  }
  for (const name of order) {
    const node = register.nodes.get(name);
    if (node === undefined) continue;
    const { rebind, surplus, unguarded } = decideNode(register, node, rules);
    for (const block of rebind) found.push(aboutBlock('return', block, 'its node is there again'));
    for (const block of surplus) {
      if (block.phase !== 'Draining') {
        found.push(aboutBlock('drain', block, 'it is more than the node should have'));
      }
    }
    for (const { prefix, pool, guards } of unguarded) {
      const detail = `cells ${guards.join(', ')} around it`;
      found.push({ action: 'guard', node: name, cidr: `${prefix}`, pool, detail });
    }
  }
  const plan = planAllocation(register, order, rules);
  for (const { name, blocks, refused } of plan.nodes) {
    for (const { action, cidr, pool } of blocks) {
      if (action === 'keep') continue;
      const detail = action === 'adopt' ? 'it is held already' : `cut from pool ${pool}`;
      found.push({ action, node: name, cidr, pool, detail });
    }
    for (const { family, reason, detail } of refused) {
      const words = `${family}: ${reason}: ${detail}`;
      found.push({ action: 'refuse', node: name, cidr: '', pool: '', detail: words });
    }
  }
  found.push(...projections(register, plan, rules.switches));
  return { intentions: found, plan };
}

function projections(
  register: Register,
  plan: AllocationPlan,
  switches: ProjectionSwitches,
): Intention[] {
  return plan.nodes.flatMap(({ name, blocks, refused }) => {
    const node = register.nodes.get(name);
    const prefixes = blocks.flatMap(({ cidr }) => parsePrefix(cidr) ?? []);
    if (node === undefined || prefixes.length === 0) return [];
    const cidr = prefixes.join(', ');
    const written: Intention[] = [];
    const add = (target: string, overwrites: readonly string[]) => {
      const over = overwrites.length === 0 ? '' : `, over ${overwrites.join(', ')}`;
      const detail = `${cidr} to the ${target}${over}`;
      written.push({ action: 'project', node: name, cidr, pool: '', detail });
    };
    const onNode = projectOnNode(node, prefixes, refused.length === 0, switches);
    if (onNode.kind === 'patch') add('Node', onNode.overwrites);
    const cilium = register.ciliumNodes.get(name);
    const onCilium = projectOnCiliumNode(cilium, prefixes, switches);
    if (onCilium.kind === 'patch') add('CiliumNode', onCilium.overwrites);
    if (switches.ciliumPools) {
      const onPools = projectOnPools(register, cilium, register.blocksOf(name).filter(isActive));
      if (onPools.kind === 'patch') add('pools of the CiliumNode', []);
    }
    return written;
  });
}

const isActive = ({ phase }: Block) => phase === 'Active';

function aboutBlock(action: IntendedAction, block: Block, detail: string): Intention {
  const { nodeName, prefix, pool } = block;
  return { action, node: nodeName, cidr: prefix.toString(), pool, detail };
}
