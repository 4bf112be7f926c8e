import { poolFamilies } from '../../model/ip-pool.ts';
import { apiVersion } from '../../model/keys.ts';
import type { Block } from '../../model/node-block.ts';
import { compareText } from '../pools/pool-set.ts';
import { poolUsage, totalUsage } from '../pools/pool-status.ts';
import { refusedClaimFindings } from './claim-findings.ts';
import { asWritten, type Cut } from './cut.ts';
import { decideNode, type NodeDecision, type Rules } from './decide-node.ts';
import { mostCutsAtOnce } from './demand.ts';
import type { BlockRefusal, Finding } from './finding.ts';
import type { Register } from './register.ts';
import { lostUsesOfFormer } from './restored.ts';

export interface PlannedBlock {
  cidr: string;
  pool: string;
  action: 'keep' | 'adopt' | 'assign';
}

export interface AllocationPlan {
  apiVersion: string;
  kind: 'AllocationPlan';
  nodes: Array<{ name: string; blocks: PlannedBlock[]; refused: BlockRefusal[] }>;
  pools: Array<{
    name: string;
    capacity: number;
    assigned: number;
    free: number;
    cooling: number;
    families: string[];
  }>;
  findings: Finding[];
}

/**
 * The dry run: what an operator that starts now on these objects would do, and
 * in which order — everything held is taken over first, then new blocks are cut,
 * oldest node first, as given among equals. The register is changed as if it had been done.
 */
export function planAllocation(
  register: Register,
  order: readonly string[],
  rules: Rules,
): AllocationPlan {
  const createdMs = (name: string) => register.nodes.get(name)?.createdMs ?? 0;
  const names = [...order].sort((a, b) => createdMs(a) - createdMs(b));
  const adopted = new Map<string, Cut[]>();
  for (const name of names) {
    const decision = decide(register, name, rules);
    if (decision === undefined) continue;
    adopted.set(name, decision.adopt);
    for (const cut of decision.adopt) register.putBlock(asWritten(decision.node, cut));
  }
  const planned = new Map<string, AllocationPlan['nodes'][number]>();
  const findings: Finding[] = [];
  for (const name of names) {
    let decision = decide(register, name, rules);
    if (decision === undefined) continue;
    const standing = [...decision.keep, ...decision.rebind];
    for (const block of decision.rebind) {
      register.putBlock({ ...block, phase: 'Active', nodeUid: decision.node.uid });
    }
    const cuts: Cut[] = [];
    for (let isHungry = true; isHungry; ) {
      cuts.push(...decision.assign);
      for (const cut of decision.assign) register.putBlock(asWritten(decision.node, cut));
      // A large demand is served in portions; the operator asks again until it is covered.
      isHungry = decision.assign.length >= mostCutsAtOnce;
      if (isHungry) decision = decide(register, name, rules) ?? decision;
    }
    const taken = adopted.get(name) ?? [];
    const isAdopted = (block: Block) => taken.some((cut) => cut.prefix.equals(block.prefix));
    const blocks: PlannedBlock[] = [
      ...standing.map((block) => planBlock(block, isAdopted(block) ? 'adopt' : 'keep')),
      ...cuts.map((cut) => planBlock(cut, 'assign')),
    ];
    planned.set(name, { name, blocks, refused: decision.refused });
    findings.push(...decision.findings);
  }
  for (const finding of poolFindings(register)) findings.push(finding);
  for (const finding of goneHolders(register)) findings.push(finding);
  return {
    apiVersion,
    kind: 'AllocationPlan',
    nodes: order.flatMap((name) => planned.get(name) ?? []),
    pools: [...register.poolSet.pools]
      .sort((a, b) => compareText(a.name, b.name))
      .map((pool) => {
        const { capacity, assigned, free, cooling } = totalUsage(pool, poolUsage(register, pool));
        return { name: pool.name, capacity, assigned, free, cooling, families: poolFamilies(pool) };
      }),
    findings,
  };
}

/** Pools that serve nothing because of whom they overlap. */
export function poolFindings(register: Register): Finding[] {
  return register.poolSet.pools.flatMap((pool) => {
    const problem = register.poolSet.problem(pool.name);
    if (problem === undefined) return [];
    return [
      { reason: problem.reason, nodes: [], cidr: pool.cidrs.join(', '), detail: problem.detail },
    ];
  });
}

/** Blocks and records of nodes that do not exist: they keep addresses out of use. */
export function goneHolders(register: Register): Finding[] {
  const found: Finding[] = [];
  const report = (nodeName: string, cidr: string, detail: string) =>
    found.push({ reason: 'HolderGone', nodes: [nodeName], cidr, detail });
  for (const { nodeName, phase, prefix } of register.blocks.values()) {
    if (phase === 'Guard' || phase === 'Cooling' || register.nodes.has(nodeName)) continue;
    report(
      nodeName,
      `${prefix}`,
      `${prefix} is registered for ${nodeName}, which does not exist; it is freed after a cool-down`,
    );
  }
  for (const { name, podCidrs } of register.ciliumNodes.values()) {
    if (podCidrs.length === 0 || register.nodes.has(name)) continue;
    const cidr = podCidrs.join(', ');
    const refused = refusedClaimFindings(register, name, 'shadow');
    for (const finding of refused) found.push(finding);
    if (refused.length > 0) continue;
    report(
      name,
      cidr,
      `CiliumNode ${name} holds ${cidr}, but there is no Node of that name; nobody else is given it`,
    );
  }
  for (const name of register.reports.keys()) {
    if (register.nodes.has(name)) continue;
    const uses = lostUsesOfFormer(register, name);
    if (uses.length === 0) continue;
    const cidr = uses.join(', ');
    report(
      name,
      cidr,
      `NodeReport ${name} uses ${cidr}, which is not in the register, and there is no Node of that name; nobody else is given it until that NodeReport is deleted`,
    );
  }
  return found;
}

function decide(register: Register, name: string, rules: Rules): NodeDecision | undefined {
  const node = register.nodes.get(name);
  return node === undefined ? undefined : decideNode(register, node, rules);
}

function planBlock(block: Pick<Block, 'prefix' | 'pool'>, action: PlannedBlock['action']) {
  return { cidr: block.prefix.toString(), pool: block.pool, action };
}
