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
 * so may the pools of a CiliumNode.
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
  for (const family of families) {
    const ours = blocks.filter((prefix) => prefix.family === family);
    if (ours.length === 0) continue;
    const others = [...holdings.bySource]
      .filter(([source]) => source !== 'report')
      .filter(([source]) => source !== 'ciliumnode' || holdings.pooled === undefined)
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

function sameSet(a: readonly Prefix[], b: readonly Prefix[]): boolean {
  return a.length === b.length && a.every((p) => b.some((q) => q.equals(p)));
}
