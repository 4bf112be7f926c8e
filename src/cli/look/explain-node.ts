import type { ClusterNode } from '../../model/node.ts';
import type { AllocationPlan } from '../../plan/blocks/allocation-plan.ts';
import type { Register } from '../../plan/blocks/register.ts';
import { type PoolCandidate, poolCandidates } from '../../plan/pools/pool-candidates.ts';
import { countText } from '../numbers.ts';
import type { Section } from '../sections.ts';
import type { Look } from '../view/look.ts';
import { type BlockDescription, describeBlock } from './blocks-command.ts';
import type { Explanation } from './explanation.ts';
import { recordsByNode } from './nodes-command.ts';
import { whyBlock } from './why.ts';

/** Why this pool and block: what the node is, what it holds, what every pool says to it. */
export function explainNode(
  look: Look,
  node: ClusterNode,
  plan: AllocationPlan,
  planned: Register,
): Explanation {
  const row = plan.nodes.find(({ name }) => name === node.name);
  const { blocks: next = [], refused = [] } = row ?? {};
  const blocks = look.register.blocksOf(node.name).map((block) => describeBlock(look, block));
  const records = recordsByNode(look, node.name);
  const pools = poolCandidates(look.register)(node);
  const findings = plan.findings.filter(({ nodes }) => nodes.includes(node.name));
  const labels = Object.entries(node.labels).map(([key, value]) => [`${key}=${value}`]);
  const why = whyBlock(planned);
  const registered = blocks.length > 0 ? blocks.map(blockLine) : [['no block']];
  const isRegistering = look.settings.mode.allocates;
  const sections: Section[] = [
    { title: 'Labels', lines: labels.length > 0 ? labels : [['none']] },
    { title: 'Address', lines: node.addresses.map((address) => [address]) },
    { title: 'Registered', lines: isRegistering ? registered : [] },
    {
      title: 'Records',
      lines: records.map(({ source, cidrs }) => [source, cidrs.join(', ')]),
    },
    { title: 'Pools', lines: pools.map(candidateLine) },
    {
      title: 'Next',
      lines: [
        ...next.map((block) => [
          `${actionWords[block.action]} ${block.cidr}`,
          [block.pool && `pool ${block.pool}`, why(node.name, block)]
            .filter((words) => words !== '')
            .join(': '),
        ]),
        ...refused.map(({ family, reason, detail }) => [
          `gets no ${family} block`,
          `${reason}: ${detail}`,
        ]),
      ],
    },
    { title: 'Findings', lines: findings.map(({ reason, detail }) => [reason, detail]) },
  ];
  return {
    subject: { kind: 'Node', name: node.name },
    facts: {
      labels: node.labels,
      addresses: node.addresses,
      blocks,
      records,
      pools: pools.map(({ isSelecting, ...rest }) => ({ selects: isSelecting, ...rest })),
      next: { blocks: next, refused },
      findings,
    },
    heading: `Node ${node.name}`,
    sections,
    names: [`node/${node.name}`],
  };
}

const actionWords = { keep: 'keeps', adopt: 'takes over', assign: 'gets' } as const;

export function blockLine(block: BlockDescription): string[] {
  const since = block.since === undefined ? '' : ` since ${block.since}`;
  const pool = block.pool === '' ? '' : `pool ${block.pool}, `;
  return [block.cidr, `${pool}${block.phase}${since}; ${block.next}`];
}

function candidateLine(candidate: PoolCandidate, at: number): string[] {
  const { pool, isSelecting, unmet, priority, specificity, obstacle, families } = candidate;
  if (!isSelecting) return ['-', pool, `does not select it: ${unmet.join('; ')}`];
  const free = families.map(
    (one) =>
      `${countText(one.free)} of ${countText(one.capacity)} ${one.family} /${one.blockSize} free`,
  );
  const words = [
    `selects it: priority ${priority}, ${specificity} ${specificity === 1 ? 'requirement' : 'requirements'}`,
    ...free,
    ...(obstacle === undefined ? [] : [`${obstacle.reason}: ${obstacle.detail}`]),
  ];
  return [`${at + 1}.`, pool, words.join('; ')];
}
