import type { Command } from 'commander';
import { addToGroup } from '../../base/add-to-group.ts';
import { apiVersion } from '../../model/keys.ts';
import { selects } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { AllocationPlan, PlannedBlock } from '../../plan/blocks/allocation-plan.ts';
import type { BlockRefusal, Finding } from '../../plan/blocks/finding.ts';
import { sourceNames } from '../../plan/blocks/holdings.ts';
import { planOf } from '../../plan/blocks/plan-of.ts';
import { registerOf } from '../../plan/blocks/register-of.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { readLabelQuery } from '../view/label-query.ts';
import {
  addLookFlags,
  checkPool,
  type Look,
  type LookFlagValues,
  lookAt,
  pickNamed,
} from '../view/look.ts';

const examples = `
Examples:
  Every node, its blocks, and what is not as it should be:
    $ cadastre nodes

  Nodes of one rack in the columns of cilium node list, with what each record says about them:
    $ cadastre nodes -l rack=83 -o wide

  Nodes that wait for a block, and why:
    $ cadastre nodes --unserved`;

interface NodeFilters {
  selector?: string;
  pool?: string;
  unserved?: boolean;
}

export function registerNodes(program: Command, terminal: Terminal): void {
  const command = program
    .command('nodes')
    .argument('[name...]', 'only these nodes')
    .summary('which blocks each node holds, and what its records say')
    .description('Lists the nodes with the blocks they hold now, and what they wait for.')
    .option('-l, --selector <labels>', 'only nodes with these labels, as for kubectl')
    .option('--pool <name>', 'only nodes with a block of this pool')
    .option('--unserved', 'only nodes that lack a block');
  addLookFlags(command)
    .addHelpText('after', examples)
    .action(async (names: string[], flags: LookFlagValues & NodeFilters) => {
      const query = flags.selector === undefined ? undefined : readLabelQuery(flags.selector);
      const look = await lookAt(flags, terminal);
      checkPool(look, flags.pool);
      const plan = planOf(registerOf(look.state, look.settings), look.state, look.settings.rules);
      const all = pickNamed(look.state.nodes, names, 'node', (node, name) => node.name === name);
      const nodes = all
        .filter((node) => selects(query, node.labels))
        .map(describerOf(look, plan))
        .filter(({ blocks }) => !flags.pool || blocks.some(({ pool }) => pool === flags.pool))
        .filter(({ state }) => !flags.unserved || state !== 'Served');
      if (nodes.length === 0) terminal.say('There is no such node.');
      await printAnswer(terminal, flags.output, {
        data: { apiVersion, kind: 'NodeHoldings', nodes },
        names: nodes.map(({ name }) => `node/${name}`),
        table: (columns, isWide) => (nodes.length === 0 ? '' : nodeTable(nodes, columns, isWide)),
      });
    });
}

export interface NodeDescription {
  name: string;
  addresses: readonly string[];
  /** What it holds now. */
  blocks: Array<{ cidr: string; pool: string }>;
  /** Served: it holds all it should. Waiting: it is about to. Refused: it will not. */
  state: 'Served' | 'Waiting' | 'Refused';
  /** What it is about to get. */
  next: PlannedBlock[];
  refused: BlockRefusal[];
  records: Array<{ source: string; cidrs: string[] }>;
  findings: Finding[];
}

function describerOf(look: Look, plan: AllocationPlan): (node: ClusterNode) => NodeDescription {
  const rows = new Map(plan.nodes.map((row) => [row.name, row]));
  const findingsOf = new Map<string, Finding[]>();
  for (const finding of plan.findings) {
    for (const name of new Set(finding.nodes)) {
      addToGroup(findingsOf, name, finding);
    }
  }
  return (node) => {
    const { blocks = [], refused = [] } = rows.get(node.name) ?? {};
    const next = blocks.filter(({ action }) => action !== 'keep');
    return {
      name: node.name,
      addresses: node.addresses,
      blocks: blocks
        .filter(({ action }) => action === 'keep')
        .map(({ cidr, pool }) => ({ cidr, pool })),
      state: refused.length > 0 ? 'Refused' : next.length > 0 ? 'Waiting' : 'Served',
      next,
      refused,
      records: recordsByNode(look, node.name),
      findings: findingsOf.get(node.name) ?? [],
    };
  };
}

/** What records other than the register say, most trusted first. */
export function recordsByNode({ register }: Look, nodeName: string): NodeDescription['records'] {
  const { bySource, compared } = register.holdingsOf(nodeName);
  return [...bySource, ...compared].map(([source, { ipv4, ipv6 }]) => ({
    source: sourceNames[source],
    cidrs: [...ipv4, ...ipv6].map(String),
  }));
}

function nodeTable(nodes: readonly NodeDescription[], columns: number, isWide: boolean): string {
  if (isWide) return wideTable(nodes, columns);
  const headings = ['NODE', 'BLOCKS', 'POOL', 'STATE', 'NOTE'];
  const rows = nodes.flatMap((node) => {
    const [first, ...more] = node.blocks;
    return [
      [node.name, first?.cidr ?? '-', first?.pool || '-', node.state, note(node)],
      ...more.map(({ cidr, pool }) => ['', cidr, pool]),
    ];
  });
  return renderTable(headings, rows, columns);
}

const isIpv6 = (text: string) => text.includes(':');
const isIpv4 = (text: string) => !isIpv6(text);

/** The columns of `cilium node list`, and ours behind them. */
function wideTable(nodes: readonly NodeDescription[], columns: number): string {
  const headings = ['NAME', 'IPV4 ADDRESS', 'ENDPOINT CIDR', 'IPV6 ADDRESS', 'ENDPOINT CIDR'];
  const rows = nodes.flatMap((node) => {
    // What it is about to be registered with is what its pods use already.
    const adopted = node.next.filter(({ action }) => action === 'adopt');
    const cidrs = [...node.blocks, ...adopted].map(({ cidr }) => cidr);
    const pools = [...new Set(node.blocks.map(({ pool }) => pool || '-'))];
    const records = node.records.map(({ source, cidrs: said }) => `${source} ${said.join(',')}`);
    const lists = [
      [node.name],
      node.addresses.filter(isIpv4),
      cidrs.filter(isIpv4),
      node.addresses.filter(isIpv6),
      cidrs.filter(isIpv6),
      pools.length === 0 ? ['-'] : pools,
      [node.state],
      [records.join('; ') || '-'],
      [note(node)],
    ];
    const length = Math.max(...lists.map((list) => list.length));
    return Array.from({ length }, (_, at) => lists.map((list) => list[at] ?? ''));
  });
  return renderTable([...headings, 'POOL', 'STATE', 'RECORDS', 'NOTE'], rows, columns);
}

const comingWords = { keep: 'keeps', adopt: 'will take over', assign: 'will get' } as const;

function note({ next, refused, findings }: NodeDescription): string {
  const reasons = refused.map(({ reason, detail }) => `${reason}: ${detail}`);
  const refusals = new Set(refused.map(({ detail }) => detail));
  return [
    ...next.map(({ cidr, pool, action }) => `${comingWords[action]} ${cidr} of pool ${pool}`),
    ...reasons,
    ...findings
      .filter(({ detail }) => !refusals.has(detail))
      .map(({ reason, detail }) => `${reason}: ${detail}`),
  ].join('; ');
}
