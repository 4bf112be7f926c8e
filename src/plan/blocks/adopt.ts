import type { ClusterNode } from '../../model/node.ts';
import { blockName } from '../../model/node-block.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { compareText } from '../pools/pool-set.ts';
import type { Cut } from './cut.ts';
import type { BlockRefusal, Finding } from './finding.ts';
import { cellsToGuard } from './guards.ts';
import { usedHoldings } from './holdings.ts';
import type { Register } from './register.ts';

export interface Adoption {
  cuts: Cut[];
  refused: BlockRefusal[];
  findings: Finding[];
}

/**
 * Takes over what a node holds without being registered: all of it or nothing,
 * across families. What cannot be adopted becomes a finding that names both owners,
 * and stays claimed for the node, so nobody else is given it; unless it is more than
 * one node may claim.
 */
export function judgeAdoption(
  register: Register,
  node: ClusterNode,
  held: readonly Prefix[],
  managed: ReadonlySet<Family>,
  refused: readonly Finding[] = [],
): Adoption {
  const adoption: Adoption = refusedAdoption(refused, managed);
  for (const prefix of held) {
    const verdict = judgeHolding(register, node, prefix);
    if (verdict.kind === 'adopt') adoption.cuts.push(verdict.cut);
    else {
      adoption.findings.push(verdict.finding);
      if (managed.has(prefix.family)) {
        const { reason, detail } = verdict.finding;
        adoption.refused.push({ family: prefix.family, reason, detail });
      }
    }
  }
  if (adoption.refused.length === 0) return adoption;
  for (const { prefix } of adoption.cuts) {
    if (adoption.refused.some((refusal) => refusal.family === prefix.family)) continue;
    const detail = `${prefix} stays with ${node.name}, but is not adopted before its other blocks are settled`;
    adoption.refused.push({ family: prefix.family, reason: 'AdoptionIncomplete', detail });
  }
  return { ...adoption, cuts: [] };
}

/** What a node claims beyond what one node may, as part of an adoption. */
export function refusedAdoption(
  findings: readonly Finding[],
  managed: ReadonlySet<Family>,
): Adoption {
  const refused = findings.flatMap(({ reason, cidr, detail }) => {
    const family: Family = cidr.includes(':') ? 'ipv6' : 'ipv4';
    return managed.has(family) ? [{ family, reason, detail }] : [];
  });
  return { cuts: [], refused, findings: [...findings] };
}

type Verdict = { kind: 'adopt'; cut: Cut } | { kind: 'refuse'; finding: Finding };

function judgeHolding(register: Register, node: ClusterNode, prefix: Prefix): Verdict {
  const refuse = (reason: Reason, nodes: string[], detail: string): Verdict => ({
    kind: 'refuse',
    finding: { reason, nodes, cidr: prefix.toString(), detail },
  });
  const clash = clashes(register, node, prefix);
  if (clash !== undefined) return refuse(clash.reason, clash.nodes, clash.detail);
  // Its name is taken until the guard has no use and goes.
  if (register.blocks.get(blockName(prefix))?.phase === 'Guard') {
    const others = new Set(nodeClaims(register, prefix).map(({ name }) => name));
    others.delete(node.name);
    const whose = others.size > 0 ? `blocks of ${[...others].join(', ')}` : 'nothing any more';
    const detail = `${prefix} of ${node.name} is still guarded for ${whose}`;
    return refuse('OverlappingBlocks', [...others, node.name], detail);
  }
  const pool = register.poolSet.containing(prefix);
  if (pool === undefined) {
    return refuse('OutsidePools', [node.name], `${prefix} of ${node.name} lies in no pool`);
  }
  const guards = cellsToGuard(prefix, pool);
  // Of a pool that overlaps an older one which serves nothing, and has larger blocks.
  if (guards === 'too many') {
    const size = pool.blockSize[prefix.family];
    const detail = `${prefix} of ${node.name} is too large to be kept in pool ${pool.name} of /${size} blocks`;
    return refuse('ClaimRefused', [node.name], detail);
  }
  return { kind: 'adopt', cut: { prefix, pool: pool.name, guards } };
}

/** Everybody whose claim goes before the node's, in one finding. */
function clashes(
  register: Register,
  node: ClusterNode,
  prefix: Prefix,
): Omit<Finding, 'cidr'> | undefined {
  const names = new Set<string>();
  const details: string[] = [];
  let isDuplicate = false;
  let isLost = false;
  for (const { name, theirs } of nodeClaims(register, prefix)) {
    const isSame = theirs.equals(prefix);
    if (name === node.name) {
      if (isSame || !isRegistered(register, name, theirs)) continue;
      details.push(`${prefix} of ${name} overlaps its own block ${theirs}`);
      continue;
    }
    if (!hasPrecedence(register, name, theirs, node)) continue;
    names.add(name);
    isDuplicate ||= isSame;
    // In use before the register gave it to another: the register is the older one.
    isLost ||= isUsed(register, node.name, prefix) && isRegistered(register, name, theirs);
    details.push(
      isSame
        ? `${prefix} is held by ${name} and by ${node.name}`
        : `${prefix} of ${node.name} overlaps ${theirs} of ${name}`,
    );
  }
  if (details.length === 0) return undefined;
  const clash = isDuplicate ? 'DuplicateBlock' : 'OverlappingBlocks';
  const reason = isLost ? 'RestoredFromBackup' : clash;
  return { reason, nodes: [...names, node.name], detail: details.join('; ') };
}

function nodeClaims(register: Register, prefix: Prefix): Array<{ name: string; theirs: Prefix }> {
  return register.claims
    .overlapping(prefix)
    .filter(({ owner }) => owner.startsWith('node/') || owner.startsWith('pooled/'))
    .map(({ owner, prefix: theirs }) => ({ name: owner.slice(owner.indexOf('/') + 1), theirs }));
}

/**
 * Registered blocks come first, then what an agent says that it uses; among equals
 * the older node, then the name.
 */
function hasPrecedence(
  register: Register,
  other: string,
  theirs: Prefix,
  node: ClusterNode,
): boolean {
  if (isRegistered(register, other, theirs)) return true;
  const peer = register.nodes.get(other);
  if (peer === undefined) return true;
  const isTheirs = isUsed(register, other, theirs);
  if (isTheirs !== isUsed(register, node.name, theirs)) return isTheirs;
  return (peer.createdMs - node.createdMs || compareText(peer.name, node.name)) < 0;
}

function isRegistered(register: Register, nodeName: string, prefix: Prefix): boolean {
  return register.blocksOf(nodeName).some((block) => block.prefix.equals(prefix));
}

function isUsed(register: Register, nodeName: string, prefix: Prefix): boolean {
  return usedHoldings(register.holdingsOf(nodeName)).some((used) => used.overlaps(prefix));
}
