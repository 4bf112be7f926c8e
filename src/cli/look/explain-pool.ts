import { plural } from '../../base/count-text.ts';
import { type Pool, poolFamilies } from '../../model/ip-pool.ts';
import { formatSelector, selects } from '../../model/label-selector.ts';
import type { Family } from '../../net/family.ts';
import { lastResort, nextBlock, poolObstacle } from '../../plan/blocks/assign.ts';
import type { Register } from '../../plan/blocks/register.ts';
import { countText } from '../numbers.ts';
import type { Section } from '../sections.ts';
import type { Look } from '../view/look.ts';
import type { Explanation } from './explanation.ts';
import { describePool } from './pools-command.ts';

function nextCidr(register: Register, pool: Pool, family: Family): string | undefined {
  const next = nextBlock(register, pool, family) ?? lastResort(register, pool, family)?.prefix;
  return next?.toString();
}

/** Whom a pool serves, from which CIDRs, what is left of them, and why it does not serve. */
export function explainPool(look: Look, pool: Pool): Explanation {
  const { register, state } = look;
  const described = describePool(look, pool);
  const selected = state.nodes.filter((node) => selects(pool.selector, node.labels));
  // A node that this pool selects may still take its blocks from a better one.
  const firstChoice = selected.filter(
    (node) => register.poolSet.selecting(node.labels).next().value?.name === pool.name,
  );
  const obstacle = poolObstacle(register, pool);
  const next = poolFamilies(pool).map((family) => ({
    family,
    cidr: obstacle === undefined ? nextCidr(register, pool, family) : undefined,
  }));
  const sections: Section[] = [
    { title: 'State', lines: [[described.reason, described.detail]] },
    {
      title: 'Selects',
      lines: [
        [formatSelector(pool.selector) || 'every node'],
        [
          `${plural(selected.length, 'node')}, the first choice of ${firstChoice.length} (priority ${pool.priority}, ${plural(pool.specificity, 'requirement')})`,
        ],
      ],
    },
    {
      title: 'CIDRs',
      lines: described.cidrs.map((usage) => [
        usage.cidr,
        `${countText(usage.assigned)} assigned, ${countText(usage.free)} free, ${countText(usage.cooling)} cooling, ${countText(usage.awaitingRelease ?? 0)} awaiting release of ${countText(usage.capacity)}`,
      ]),
    },
    { title: 'Reserved', lines: described.reserved.map((cidr) => [cidr]) },
    {
      title: 'Next',
      lines: next.map(({ family, cidr }) => [
        family,
        cidr ?? (obstacle === undefined ? 'nothing is free' : `nothing: ${obstacle.detail}`),
      ]),
    },
  ];
  return {
    subject: { kind: 'IPPool', name: pool.name },
    facts: {
      pool: described,
      selects: selected.map(({ name }) => name),
      firstChoiceOf: firstChoice.map(({ name }) => name),
      next,
    },
    heading: `Pool ${pool.name}`,
    sections,
    names: [`ippool.cadastre.dev/${pool.name}`],
  };
}
