import { selects } from '../model/label-selector.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import { type Family, families } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import { judgeAdoption } from './adopt.ts';
import { assignBlocks } from './assign.ts';
import type { Cut } from './cut.ts';
import { coversDemand, type Usable, usableByDefault } from './demand.ts';
import { disagreements } from './disagreements.ts';
import type { Finding, Refusal } from './finding.ts';
import { allHoldings, trustedHoldings } from './holdings.ts';
import type { Register } from './register.ts';

export interface Rules {
  /** The families to serve; `auto`: whatever the pools that select a node offer. */
  families: ReadonlySet<Family> | 'auto';
  /** cluster-pool-v2: as many blocks as the node's report asks for, not exactly one. */
  byDemand: boolean;
  usable?: Usable;
}

/**
 * Everything there is to do for one node, decided at once and from plain values.
 * The actor writes it down step by step; after any crash the same question gives
 * the steps that are left.
 */
export interface NodeDecision {
  node: ClusterNode;
  keep: Block[];
  /** Blocks of an earlier incarnation of the node: they are its own again. */
  rebind: Block[];
  adopt: Cut[];
  assign: Cut[];
  /** Blocks beyond what the node should have that nothing uses. */
  surplus: Block[];
  refused: Refusal[];
  findings: Finding[];
}

export function decideNode(register: Register, node: ClusterNode, rules: Rules): NodeDecision {
  const decision: NodeDecision = {
    node,
    keep: [],
    rebind: [],
    adopt: [],
    assign: [],
    surplus: [],
    refused: [],
    findings: [],
  };
  const managed = managedFamilies(register, node, rules);
  sortOutHeld(register, node, rules, decision);
  const standing = [...decision.keep, ...decision.rebind];
  const adoptable = holdingsToAdopt(register, node, standing);
  const served = rules.families === 'auto' ? register.poolSet.families() : rules.families;
  const adoption = judgeAdoption(register, node, adoptable, served);
  decision.adopt = adoption.cuts;
  decision.refused.push(...adoption.refused);
  decision.findings.push(...adoption.findings);
  // A node whose own blocks are in doubt gets nothing new: its pods use the old ones.
  if (adoption.refused.length === 0) grow(register, rules, managed, decision);
  decision.findings.push(...disagreements(register, decision), ...misplaced(register, decision));
  return decision;
}

function managedFamilies(register: Register, node: ClusterNode, rules: Rules): ReadonlySet<Family> {
  if (rules.families !== 'auto') return rules.families;
  const offered = new Set<Family>();
  const selecting = register.poolSet.selecting(node.labels);
  for (const pool of selecting) for (const cidr of pool.cidrs) offered.add(cidr.family);
  // Nothing selects the node: it misses whatever the other nodes have.
  if (offered.size === 0) return selecting.length === 0 ? wantedByNobody(register) : offered;
  return offered;
}

function wantedByNobody(register: Register): ReadonlySet<Family> {
  const known = register.poolSet.families();
  return known.size > 0 ? known : new Set<Family>(['ipv4']);
}

/** Which of the blocks in the node's name stay, come back, or are too many. */
function sortOutHeld(
  register: Register,
  node: ClusterNode,
  rules: Rules,
  decision: NodeDecision,
): void {
  const blocks = register.blocksOf(node.name).filter((block) => !block.deleting);
  const holdings = allHoldings(register.holdingsOf(node.name));
  const isEvident = (block: Block) => holdings.some((held) => held.equals(block.prefix));
  for (const family of families) {
    const own = blocks.filter((block) => block.prefix.family === family);
    const live = own.filter((block) => block.phase !== 'Cooling');
    const returning = own
      .filter((block) => block.phase === 'Cooling' && block.nodeUid !== node.uid)
      .filter((block) => poolStillSelects(register, node, block))
      .sort((a, b) => b.coolingSinceMs - a.coolingSinceMs || a.prefix.compare(b.prefix));
    if (rules.byDemand) place(node, [...live, ...returning], decision);
    else if (live.length > 0) {
      // More than one is right only if records outside the register speak of it
      // too (several adopted blocks); otherwise two leaders cut at once.
      const evident = live.filter(isEvident);
      const stay = evident.length > 0 ? evident : live.slice(0, 1);
      place(node, stay, decision);
      decision.surplus.push(...live.filter((block) => !stay.includes(block)));
    } else place(node, returning.slice(0, 1), decision);
  }
}

function place(node: ClusterNode, blocks: readonly Block[], decision: NodeDecision): void {
  for (const block of blocks) {
    if (block.nodeUid === node.uid && block.phase !== 'Cooling') decision.keep.push(block);
    else decision.rebind.push(block);
  }
}

function poolStillSelects(register: Register, node: ClusterNode, block: Block): boolean {
  const pool = register.poolSet.get(block.pool);
  return pool !== undefined && selects(pool.selector, node.labels);
}

/**
 * What the node holds outside the register: families it has no block of, and the
 * rest of a list of which some is registered already (a crash between two adoptions).
 */
function holdingsToAdopt(register: Register, node: ClusterNode, standing: Block[]): Prefix[] {
  const holdings = register.holdingsOf(node.name);
  return families.flatMap((family) => {
    const trusted = trustedHoldings(holdings, family);
    const registered = standing.filter((block) => block.prefix.family === family);
    const agrees = registered.every((block) => trusted.some((held) => held.equals(block.prefix)));
    if (!agrees) return [];
    return trusted.filter((held) => !registered.some((block) => block.prefix.equals(held)));
  });
}

/** So that one node's appetite does not hold up the others. */
const mostCutsAtOnce = 16;

function grow(
  register: Register,
  rules: Rules,
  managed: ReadonlySet<Family>,
  decision: NodeDecision,
): void {
  const { node } = decision;
  const standing = [...decision.keep, ...decision.rebind, ...decision.adopt];
  const report = register.reports.get(node.name);
  const stated = report?.nodeUid === node.uid ? report.neededAddresses : {};
  try {
    while (decision.assign.length < mostCutsAtOnce) {
      const held = [...standing, ...decision.assign];
      const needed = [...managed].filter((family) =>
        rules.byDemand
          ? !coversDemand(held, family, stated[family] ?? 0, rules.usable ?? usableByDefault)
          : !held.some(({ prefix }) => prefix.family === family),
      );
      if (needed.length === 0) return;
      const assignment = assignBlocks(register, node, held, new Set(needed), managed);
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

/** Registered blocks that are where they should no longer be: kept, and reported. */
function misplaced(register: Register, { node, keep, rebind }: NodeDecision): Finding[] {
  const found: Finding[] = [];
  for (const block of [...keep, ...rebind]) {
    const cidr = block.prefix.toString();
    const pool = register.poolSet.containing(block.prefix);
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
