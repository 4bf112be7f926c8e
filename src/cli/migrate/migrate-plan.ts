import { plural } from '../../base/count-text.ts';
import { type ClusterState, clusterState } from '../../model/cluster-state.ts';
import { apiVersion } from '../../model/keys.ts';
import type { Mode } from '../../model/modes.ts';
import { sourceNames } from '../../plan/blocks/holdings.ts';
import { registerOf } from '../../plan/blocks/register-of.ts';
import {
  type MigrationPlan,
  type NodeBlocks,
  planMigration,
} from '../../plan/migration/migration-plan.ts';
import { moveSteps, preparation } from '../../plan/migration/migration-steps.ts';
import { compareText } from '../../plan/pools/pool-set.ts';
import { printAnswer } from '../output.ts';
import { renderSections } from '../sections.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { IpamSettings } from '../view/ipam-flags.ts';
import { readLook, warnOf } from '../view/look.ts';
import { readFilesOf } from '../view/view-flags.ts';
import type { MigrateFlags } from './migrate-flags.ts';

/** The plan, and what it was made from. */
export interface Planned {
  plan: MigrationPlan;
  settings: IpamSettings;
  state: ClusterState;
}

export async function makePlan(flags: MigrateFlags, terminal: Terminal): Promise<Planned> {
  // Pools that are to come are moved to, whatever flags the operator has now.
  const isStaying = (mode: Mode) => flags.pools === undefined || mode.pools !== 'flags';
  const { settings, state: found } = await readLook(flags, terminal, ['migrations'], isStaying);
  const state = flags.pools === undefined ? found : await withPools(found, flags, terminal);
  warnOf(state, flags, terminal);
  const register = registerOf(state, settings);
  const order = state.nodes.map(({ name }) => name).sort(compareText);
  return { plan: planMigration(register, order, settings.rules), settings, state };
}

/** The cluster as if the pools of those files were in it. */
async function withPools(
  state: ClusterState,
  flags: MigrateFlags,
  terminal: Terminal,
): Promise<ClusterState> {
  const { items } = await readFilesOf(flags.pools ?? [], flags, terminal);
  const { pools } = clusterState({ pools: items.pools });
  const isNew = new Set(pools.map(({ name }) => name));
  return { ...state, pools: [...state.pools.filter(({ name }) => !isNew.has(name)), ...pools] };
}

export async function printPlan(flags: MigrateFlags, terminal: Terminal): Promise<void> {
  const { plan, settings } = await makePlan(flags, terminal);
  const steps = preparation(plan, settings.mode.name);
  await printAnswer(terminal, flags.output, {
    data: {
      apiVersion,
      kind: 'MigrationPlan',
      from: plan.from.map((source) => sourceNames[source]),
      to: settings.mode.name,
      prepare: steps,
      stay: plan.stay,
      adopt: plan.adopt,
      fresh: plan.fresh,
      moves: plan.moves.map((move, at) => ({ order: at + 1, ...move, steps: moveSteps(move) })),
      refused: plan.refused,
      findings: plan.findings,
    },
    names: plan.moves.map(({ node }) => `node/${node}`),
    table: (columns) => planText(plan, settings.mode.name, columns),
  });
  terminal.say(closingWords(plan));
  if (plan.refused.length > 0) terminal.exitCode = 1;
}

function planText(plan: MigrationPlan, mode: string, columns: number): string {
  const parts: string[] = [];
  const steps = preparation(plan, mode).map(({ step, does, hurts, undo }) => ({
    title: step,
    lines: [
      ['does', does],
      ['affects', hurts],
      ['undo', undo],
    ],
  }));
  parts.push(renderSections('Before the first node moves', steps, columns));
  const rows = [
    ...plan.stay.map((node) => nodeRow(node, 'stays')),
    ...plan.adopt.map((node) => nodeRow(node, 'adopted as it is')),
    ...plan.fresh.map((node) => nodeRow(node, 'newly cut')),
  ];
  if (rows.length > 0) {
    parts.push(renderTable(['NODE', 'BLOCKS', 'POOL', 'WHAT HAPPENS'], rows, columns));
  }
  if (plan.moves.length > 0) {
    const moves = plan.moves.map((move, at) => [
      `${at + 1}`,
      move.node,
      move.from.join(', '),
      move.to.map(({ cidr }) => cidr).join(', '),
      [...new Set(move.to.map(({ pool }) => pool))].join(', '),
      move.method,
      [
        `${move.reason}: ${move.detail}`,
        ...(move.after.length > 0 ? [`after the cool-down of ${move.after.join(', ')}`] : []),
      ].join('; '),
    ]);
    const headings = ['MOVE', 'NODE', 'FROM', 'TO', 'POOL', 'BY', 'WHY'];
    parts.push(renderTable(headings, moves, columns));
    const touched = plan.moves.flatMap((move) =>
      moveSteps(move)
        .filter(({ hurts }) => hurts !== 'nobody' && !hurts.startsWith('nobody:'))
        .map(({ step, hurts }, at) => [at === 0 ? move.node : '', step, hurts]),
    );
    parts.push(renderTable(['NODE', 'STEP', 'AFFECTS'], touched, columns));
  }
  if (plan.refused.length > 0) {
    const refused = plan.refused.map(({ node, reason, detail }) => [node, reason, detail]);
    parts.push(renderTable(['NODE', 'REFUSED', 'WHY'], refused, columns));
  }
  if (plan.findings.length > 0) {
    const rows = plan.findings.map(({ reason, detail }) => [reason, detail]);
    parts.push(renderTable(['FINDING', 'WHAT'], rows, columns));
  }
  return parts.join('\n');
}

function nodeRow({ node, blocks }: NodeBlocks, words: string): string[] {
  const [first] = blocks;
  const source = first?.source === undefined ? '' : ` (${first.source})`;
  return [
    node,
    blocks.map(({ cidr }) => cidr).join(', '),
    [...new Set(blocks.map(({ pool }) => pool))].join(', '),
    `${words}${source}`,
  ];
}

function closingWords(plan: MigrationPlan): string {
  const quiet = plan.stay.length + plan.adopt.length;
  const parts = [
    `${plural(quiet, 'node')} keep their blocks`,
    `${plan.fresh.length} get their first block`,
    `${plan.moves.length} must move`,
    `${plan.refused.length} cannot be served`,
  ];
  return `${parts.join(', ')}; nothing was changed.`;
}
