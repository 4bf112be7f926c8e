import { families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Finding } from './finding.ts';
import { sourceNames } from './holdings.ts';
import type { Register } from './register.ts';

/**
 * Records that say something else than the register: the incident's own fault,
 * two writers for one fact. A record that says nothing does not disagree; where
 * the node's blocks are not settled (`blocks` is empty), none does. An agent's report
 * may be behind the register, and what it has beyond it is adopted or refused by itself;
 * so may the pools of a CiliumNode, where we serve them.
 */
export function disagreements(
  register: Register,
  node: string,
  blocks: readonly Prefix[],
): Finding[] {
  const holdings = register.holdingsOf(node);
  const found: Finding[] = holdings.malformed.map(({ source, value }) => ({
    reason: 'MalformedHolding',
    nodes: [node],
    cidr: value,
    detail: `${sourceNames[source]} of ${node} has "${value}", which is not a CIDR`,
  }));
  if (!holdings.adoptsPooled) {
    found.push(...pooledFindings(register, node, blocks, holdings.pooled));
  }
  for (const family of families) {
    const ours = blocks.filter((prefix) => prefix.family === family);
    if (ours.length === 0) continue;
    const others = [...holdings.bySource, ...holdings.compared]
      .filter(([source]) => source !== 'report')
      .filter(([, theirs]) => theirs[family].length > 0 && !sameSet(theirs[family], ours))
      .map(([source, theirs]) => `${sourceNames[source]} says ${theirs[family].join(', ')}`);
    if (others.length === 0) continue;
    found.push({
      reason: 'SourcesDisagree',
      nodes: [node],
      cidr: ours.join(', '),
      detail: `${node} has ${ours.join(', ')}, but ${others.join(' and ')}`,
    });
  }
  return found;
}

/** What multi-pool gave the node and the register does not know; what it gave to two nodes. */
function pooledFindings(
  register: Register,
  node: string,
  blocks: readonly Prefix[],
  pooled: readonly Prefix[],
): Finding[] {
  const unknown = pooled.filter((prefix) => !blocks.some((own) => own.equals(prefix)));
  if (unknown.length === 0) return [];
  const cidr = unknown.join(', ');
  const found: Finding[] = [
    {
      reason: 'SourcesDisagree',
      nodes: [node],
      cidr,
      detail: `CiliumNode.spec.ipam.pools of ${node} has ${cidr}, given by Cilium's multi-pool; nobody is given it`,
    },
  ];
  for (const prefix of unknown) {
    for (const { owner, prefix: theirs } of register.claims.overlapping(prefix)) {
      const [kind, other = ''] = owner.split('/', 2);
      if ((kind !== 'node' && kind !== 'pooled') || other === node) continue;
      const isSame = theirs.equals(prefix);
      found.push({
        reason: isSame ? 'DuplicateBlock' : 'OverlappingBlocks',
        nodes: [other, node].sort(),
        cidr: `${prefix}`,
        detail: isSame
          ? `${prefix} of CiliumNode.spec.ipam.pools is held by ${other} and by ${node}`
          : `${prefix} of CiliumNode.spec.ipam.pools of ${node} overlaps ${theirs} of ${other}`,
      });
    }
  }
  return found;
}

function sameSet(a: readonly Prefix[], b: readonly Prefix[]): boolean {
  return a.length === b.length && a.every((p) => b.some((q) => q.equals(p)));
}
