import type { Mode } from '../../model/modes.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import { type Family, families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { type Adoption, judgeAdoption, refusedAdoption } from './adopt.ts';
import { assignBlocks } from './assign.ts';
import { addressFindings, refusedClaimFindings } from './claim-findings.ts';
import type { Cut } from './cut.ts';
import { coversDemand, mostCutsAtOnce } from './demand.ts';
import { disagreements } from './disagreements.ts';
import type { BlockRefusal, Finding } from './finding.ts';
import { isRestOf, recordedHoldings, usedHoldings } from './holdings.ts';
import { misplaced, unguardedCells } from './misplaced.ts';
import { growByPool } from './pool-demand.ts';
import type { Register } from './register.ts';
import { lostUsesOfFormer } from './restored.ts';
import { type Standing, standingOf } from './standing.ts';

export interface Rules {
  /** The families to serve; `auto`: whatever the pools that select a node offer. */
  families: ReadonlySet<Family> | 'auto';
  /** cluster-pool-v2: as many blocks as the node's report asks for, not exactly one. */
  byDemand: boolean;
  /** multi-pool: as CiliumNode asks for them, each pool by its name and each family by itself. */
  byPool?: boolean;
}

export function rulesOf(mode: Mode, served: Rules['families']): Rules {
  const { byDemand, isPooledByCilium } = mode;
  return { families: served, byDemand, ...(isPooledByCilium ? { byPool: true } : {}) };
}

/**
 * Everything there is to do for one node, decided at once and from plain values.
 * The actor writes it down step by step; after any crash the same question gives
 * the steps that are left.
 */
export interface NodeDecision extends Standing {
  node: ClusterNode;
  adopt: Cut[];
  assign: Cut[];
  /** Kept blocks of another size than their pool's, whose cells are not all guarded. */
  unguarded: Cut[];
  refused: BlockRefusal[];
  findings: Finding[];
}

export function decideNode(register: Register, node: ClusterNode, rules: Rules): NodeDecision {
  const managed = managedFamilies(register, node, rules);
  const standing = standingOf(register, node, rules.byDemand);
  const decision: NodeDecision = {
    node,
    ...standing,
    adopt: [],
    assign: [],
    unguarded: unguardedCells(register, standing),
    refused: [],
    findings: [],
  };
  const served = rules.families === 'auto' ? register.poolSet.families() : rules.families;
  const adoption = adopt(register, node, [...standing.keep, ...standing.rebind], served);
  decision.adopt = adoption.cuts;
  decision.refused.push(...adoption.refused);
  decision.findings.push(...adoption.findings);
  // A node whose own blocks are in doubt gets nothing new: its pods use the old ones.
  if (adoption.refused.length === 0) {
    if (rules.byPool) {
      const held = [...decision.keep, ...decision.rebind, ...decision.adopt];
      const { cuts, refused } = growByPool(register, node, rules.families, held);
      decision.assign.push(...cuts);
      decision.refused.push(...refused);
    } else grow(register, rules, managed, decision);
  }
  if (decision.assign.length > 0) awaitAgent(register, decision);
  const isSettled = !decision.refused.some(({ reason }) => reason === 'AdoptionIncomplete');
  const blocks = isSettled ? [...decision.keep, ...decision.rebind, ...decision.adopt] : [];
  decision.findings.push(
    ...disagreements(
      register,
      node.name,
      blocks.map(({ prefix }) => prefix),
    ),
    ...misplaced(register, node, standing),
    ...addressFindings(register, node.name),
  );
  return decision;
}

function managedFamilies(register: Register, node: ClusterNode, rules: Rules): ReadonlySet<Family> {
  if (rules.families !== 'auto') return rules.families;
  const offered = new Set<Family>();
  const most = register.poolSet.families().size;
  let isSelected = false;
  for (const pool of register.poolSet.selecting(node.labels)) {
    isSelected = true;
    for (const cidr of pool.cidrs) offered.add(cidr.family);
    if (offered.size === most) break;
  }
  // Nothing selects the node: it misses whatever the other nodes have.
  return isSelected ? offered : wantedByNobody(register);
}

function wantedByNobody(register: Register): ReadonlySet<Family> {
  const known = register.poolSet.families();
  return known.size > 0 ? known : new Set<Family>(['ipv4']);
}

/**
 * What its own agent uses comes first, each block for itself: pods live there, and
 * what one of them is refused for says nothing about the others. What is more than
 * one node may claim is refused before anything else is asked.
 */
function adopt(
  register: Register,
  node: ClusterNode,
  standing: Block[],
  served: ReadonlySet<Family>,
): Adoption {
  const { refused } = register.claimsOf(node.name);
  const inVain = new Set(refused.map(({ prefix }) => prefix.toString()));
  const may = (prefix: Prefix) => !inVain.has(prefix.toString());
  const findings = refusedClaimFindings(register, node.name, 'node');
  const used = usesToAdopt(register, node, standing).filter(may);
  if (used.length === 0) {
    const held = holdingsToAdopt(register, node, standing, may);
    return judgeAdoption(register, node, held, served, findings);
  }
  const each = [
    refusedAdoption(findings, served),
    ...used.map((prefix) => judgeAdoption(register, node, [prefix], served)),
  ];
  return {
    cuts: each.flatMap(({ cuts }) => cuts),
    refused: each.flatMap(({ refused }) => refused),
    findings: each.flatMap(({ findings }) => findings),
  };
}

function usesToAdopt(register: Register, node: ClusterNode, standing: Block[]): Prefix[] {
  const own = register.blocksOf(node.name);
  const holdings = register.holdingsOf(node.name);
  return [...usedHoldings(holdings), ...(holdings.adoptsPooled ? holdings.pooled : [])].filter(
    (used) =>
      !own.some((block) => block.prefix.equals(used)) &&
      !standing.some((block) => block.prefix.contains(used)),
  );
}

/**
 * A Node that was made anew under a name whose last agent used blocks that are not
 * registered: they may be its own, so it gets no other before its agent has said.
 */
function awaitAgent(register: Register, decision: NodeDecision): void {
  const { node } = decision;
  const lost = lostUsesOfFormer(register, node.name);
  if (lost.length === 0) return;
  const detail = `the NodeReport of ${node.name} is of an earlier Node of that name and says that ${lost.join(', ')} is in use; waiting for the agent of ${node.name} to report for this Node, or for that NodeReport to be deleted`;
  const lacking = new Set(decision.assign.map(({ prefix }) => prefix.family));
  for (const family of lacking) {
    decision.refused.push({ family, reason: 'WaitingForRegister', detail });
  }
  decision.assign = [];
}

/**
 * What the node holds outside the register: families it has no block of, and the
 * rest of a list of which some is registered already (a crash between two adoptions).
 * What has the node's name on it in the register, in whatever phase, needs no adoption.
 */
function holdingsToAdopt(
  register: Register,
  node: ClusterNode,
  standing: Block[],
  may: (prefix: Prefix) => boolean,
): Prefix[] {
  const holdings = register.holdingsOf(node.name);
  const own = register.blocksOf(node.name);
  return families.flatMap((family) => {
    const { prefixes } = recordedHoldings(holdings, family);
    if (!isRestOf(prefixes, standing)) return [];
    const recorded = prefixes.filter(may);
    const all = [...recorded, ...standing.map((block) => block.prefix)];
    return recorded.filter(
      (held) =>
        !own.some((block) => block.prefix.equals(held)) &&
        !all.some((larger) => larger.contains(held) && !larger.equals(held)),
    );
  });
}

function grow(
  register: Register,
  rules: Rules,
  managed: ReadonlySet<Family>,
  decision: NodeDecision,
): void {
  const { node } = decision;
  // A draining block takes no new pods: the node needs another before it is empty.
  const standing = [
    ...[...decision.keep, ...decision.rebind].filter(({ phase }) => phase !== 'Draining'),
    ...decision.adopt,
  ];
  const report = register.reports.get(node.name);
  const stated = report?.nodeUid === node.uid ? report.neededAddresses : {};
  try {
    while (decision.assign.length < mostCutsAtOnce) {
      const held = [...standing, ...decision.assign];
      const needed = [...managed].filter((family) =>
        rules.byDemand
          ? !coversDemand(held, family, stated[family] ?? 0)
          : !held.some(({ prefix }) => prefix.family === family),
      );
      if (needed.length === 0) return;
      const assignment = assignBlocks(
        register,
        node,
        held,
        new Set(needed),
        managed,
        rules.byDemand,
      );
      decision.assign.push(...assignment.cuts);
      for (const { prefix } of assignment.cuts) register.reserve(node.name, prefix);
      if (assignment.refused.length > 0) {
        decision.refused.push(...assignment.refused);
        return;
      }
    }
  } finally {
    // Deciding leaves no trace; the actor reserves what it goes on to write.
    for (const { prefix } of decision.assign) register.unreserve(node.name, prefix);
  }
}
