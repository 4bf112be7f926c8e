import type { ClusterNode } from '../model/node.ts';
import type { Reason } from '../model/reasons.ts';
import type { Family } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Cut } from './cut.ts';
import type { Finding, Refusal } from './finding.ts';
import { cellsToGuard } from './guards.ts';
import { compareText } from './pool-set.ts';
import type { Register } from './register.ts';

export interface Adoption {
  cuts: Cut[];
  refused: Refusal[];
  findings: Finding[];
}

/**
 * Takes over what a node holds without being registered: all of it or nothing,
 * across families. What cannot be adopted stays claimed for the node, so nobody
 * else is given it, and becomes a finding that names both owners.
 */
export function judgeAdoption(
  register: Register,
  node: ClusterNode,
  held: readonly Prefix[],
  managed: ReadonlySet<Family>,
): Adoption {
  const adoption: Adoption = { cuts: [], refused: [], findings: [] };
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

type Verdict = { kind: 'adopt'; cut: Cut } | { kind: 'refuse'; finding: Finding };

function judgeHolding(register: Register, node: ClusterNode, prefix: Prefix): Verdict {
  const refuse = (reason: Reason, nodes: string[], detail: string): Verdict => ({
    kind: 'refuse',
    finding: { reason, nodes, cidr: prefix.toString(), detail },
  });
  for (const claim of register.claims.overlapping(prefix)) {
    if (!claim.owner.startsWith('node/')) continue;
    const other = claim.owner.slice('node/'.length);
    if (other === node.name) {
      if (claim.prefix.equals(prefix) || !isRegistered(register, other, claim.prefix)) continue;
      const detail = `${prefix} of ${node.name} overlaps its own block ${claim.prefix}`;
      return refuse('OverlappingBlocks', [node.name], detail);
    }
    if (!hasPrecedence(register, other, claim.prefix, node)) continue;
    const names = [other, node.name];
    return claim.prefix.equals(prefix)
      ? refuse('DuplicateBlock', names, `${prefix} is held by ${other} and by ${node.name}`)
      : refuse(
          'OverlappingBlocks',
          names,
          `${prefix} of ${node.name} overlaps ${claim.prefix} of ${other}`,
        );
  }
  const pool = register.poolSet.containing(prefix);
  if (pool === undefined) {
    return refuse('OutsidePools', [node.name], `${prefix} of ${node.name} lies in no pool`);
  }
  const guards = cellsToGuard(prefix, pool);
  if (guards === 'too many') {
    const size = pool.blockSize[prefix.family];
    const detail = `${prefix} of ${node.name} is too large to be kept in pool ${pool.name} of /${size} blocks`;
    return refuse('OutsidePools', [node.name], detail);
  }
  return { kind: 'adopt', cut: { prefix, pool: pool.name, guards } };
}

/** Registered blocks come first; among mere holdings the older node, then the name. */
function hasPrecedence(
  register: Register,
  other: string,
  theirs: Prefix,
  node: ClusterNode,
): boolean {
  if (isRegistered(register, other, theirs)) return true;
  const peer = register.nodes.get(other);
  if (peer === undefined) return true;
  return (peer.createdMs - node.createdMs || compareText(peer.name, node.name)) < 0;
}

function isRegistered(register: Register, nodeName: string, prefix: Prefix): boolean {
  return register.blocksOf(nodeName).some((block) => block.prefix.equals(prefix));
}
