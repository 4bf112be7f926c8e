import { apiVersion } from '../../model/keys.ts';
import type { ClusterNode } from '../../model/node.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import { type Family, families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { AllocationPlan } from './allocation-plan.ts';
import type { Rules } from './decide-node.ts';
import { disagreements } from './disagreements.ts';
import type { BlockRefusal, Finding } from './finding.ts';
import { type HoldingSource, type Holdings, readHoldings, trustedHoldings } from './holdings.ts';
import type { Register } from './register.ts';

/** In mode `kubernetes` a node's blocks are what Node.spec says, and else the annotation. */
export const hostScopeSources: readonly HoldingSource[] = ['spec', 'annotation', 'old-annotation'];

/**
 * The dry run of mode `kubernetes`, in which somebody else gives out the blocks:
 * nothing is adopted or cut, and every node keeps what its records say. What is
 * wrong with that is still found: a node without a block, two with the same one,
 * a CiliumNode that says something else.
 */
export function planHostScope(
  register: Register,
  order: readonly string[],
  rules: Pick<Rules, 'families'>,
): AllocationPlan {
  const nodes = order.flatMap((name) => register.nodes.get(name) ?? []);
  const held = new Map(
    nodes.map((node) => [node.name, readHoldings(node, undefined, hostScopeSources)]),
  );
  const wanted = rules.families === 'auto' ? familiesSeen([...held.values()]) : rules.families;
  const claims = new ClaimIndex<string>();
  const findings: Finding[] = [];
  const rows = nodes.map((node) => {
    const holdings = held.get(node.name) as Holdings;
    const blocks = families.flatMap((family) => trustedHoldings(holdings, family));
    findings.push(...clashes(claims, node, blocks), ...disagreements(register, node.name, blocks));
    return {
      name: node.name,
      blocks: blocks.map((prefix) => ({ cidr: `${prefix}`, pool: '', action: 'keep' as const })),
      refused: [...wanted]
        .filter((family) => !blocks.some((prefix) => prefix.family === family))
        .map((family) => missing(node, family)),
    };
  });
  return { apiVersion, kind: 'AllocationPlan', nodes: rows, pools: [], findings };
}

function familiesSeen(all: readonly Holdings[]): ReadonlySet<Family> {
  const seen = families.filter((family) =>
    all.some((holdings) => trustedHoldings(holdings, family).length > 0),
  );
  return new Set(seen.length > 0 ? seen : ['ipv4']);
}

function missing(node: ClusterNode, family: Family): BlockRefusal {
  const detail = `${node.name} has no ${family} block in Node.spec.podCIDRs or its annotations, and mode kubernetes allocates none`;
  return { family, reason: 'NoBlockRecorded', detail };
}

function clashes(claims: ClaimIndex<string>, node: ClusterNode, blocks: readonly Prefix[]) {
  const found: Finding[] = [];
  for (const prefix of blocks) {
    for (const { prefix: theirs, owner } of claims.overlapping(prefix)) {
      if (owner === node.name) continue;
      const isSame = theirs.equals(prefix);
      found.push({
        reason: isSame ? 'DuplicateBlock' : 'OverlappingBlocks',
        nodes: [owner, node.name],
        cidr: prefix.toString(),
        detail: isSame
          ? `${prefix} is held by ${owner} and by ${node.name}`
          : `${prefix} of ${node.name} overlaps ${theirs} of ${owner}`,
      });
    }
    claims.record(prefix, node.name);
  }
  return found;
}
