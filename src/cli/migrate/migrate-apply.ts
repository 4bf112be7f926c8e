import type { Command } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import { silentLog } from '../../base/log.ts';
import type { KubeClient } from '../../kube/client.ts';
import {
  beginMove,
  beginUndo,
  type MigrationRun,
  runMigration,
} from '../../migrate/migrate-node.ts';
import { watchRouters } from '../../migrate/migrate-routers.ts';
import { MigrationView, type RouterWatch } from '../../migrate/migration-view.ts';
import type { NodeMove } from '../../plan/migration/migration-plan.ts';
import { moveSteps } from '../../plan/migration/migration-steps.ts';
import { askYes } from '../ask-yes.ts';
import { readSeconds, readWhole } from '../numbers.ts';
import { readListen } from '../run/listen-flag.ts';
import { stopOnSignals } from '../stop-signals.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { addIpamFlags } from '../view/ipam-flags.ts';
import { addClusterFlags, withClient } from '../view/view-flags.ts';
import type { MigrateFlags } from './migrate-flags.ts';
import { makePlan } from './migrate-plan.ts';

interface ApplyFlags extends MigrateFlags {
  all?: boolean;
  limit?: string;
  yes?: boolean;
  timeout: string;
  bmp?: string;
  evict: boolean;
  restartCiliumAgent: boolean;
  ciliumNamespace: string;
}

const applyExamples = `
Examples:
  One node, after showing what will be done:
    $ cadastre migrate apply node1

  The next three of the plan, in a script, each seen at the routers that report over BMP:
    $ cadastre migrate apply --all --limit 3 --yes --bmp 0.0.0.0:11019

A move that was interrupted continues from its last step when it is applied again.`;

const undoExamples = `
Examples:
  $ cadastre migrate undo node1
  $ cadastre migrate undo node1 --yes --bmp 0.0.0.0:11019`;

export function addMigrateApply(migrate: Command, terminal: Terminal): void {
  const apply = migrate
    .command('apply')
    .argument('[node]', 'the node to move')
    .summary('move one node, or the next ones of the plan')
    .description(
      "Moves a node in the steps that migrate plan shows: it gets a new block, its pods leave the old one, Cilium's agent is restarted where it serves the node, and the old block is released when nobody uses it. An operator must run.",
    )
    .option('--all', 'the nodes of the plan, in its order, one at a time')
    .option('--limit <n>', 'with --all: at most so many')
    .addHelpText('after', applyExamples);
  addCommon(addIpamFlags(apply)).action((node: string | undefined, flags: ApplyFlags) =>
    applyMoves(node, { ...flags, output: 'table' }, terminal),
  );
  const undo = migrate
    .command('undo')
    .argument('<node>', 'the node to bring back to the blocks it had')
    .summary('bring a node back to the blocks it had')
    .description(
      'Undoes a move, from whatever step it has reached. Before the old block is released, that means uncordoning; afterwards the node moves once more, the other way.',
    )
    .addHelpText('after', undoExamples);
  addCommon(addIpamFlags(undo)).action((node: string, flags: ApplyFlags) =>
    undoMove(node, { ...flags, output: 'table' }, terminal),
  );
}

function addCommon(command: Command): Command {
  return addClusterFlags(command)
    .option('--yes', 'do not ask')
    .option('--timeout <seconds>', 'how long one node may take', '900')
    .option('--no-evict', 'wait until somebody else has started the pods of the old block again')
    .option('--no-restart-cilium-agent', "wait until somebody else has restarted Cilium's agent")
    .option('--cilium-namespace <name>', 'where the DaemonSet cilium is', 'kube-system')
    .option('--bmp <address>', 'wait until every router that reports here over BMP has the route');
}

async function applyMoves(
  name: string | undefined,
  flags: ApplyFlags,
  terminal: Terminal,
): Promise<void> {
  if ((name === undefined) === (flags.all !== true)) {
    throw new CadastreError('BAD_USAGE', 'name one node, or say --all', {
      remedy: 'For example: cadastre migrate apply node1.',
    });
  }
  const limit = readLimit(flags);
  const timeoutMs = readSeconds('--timeout', flags.timeout, 1, 86_400) * 1000;
  const { plan, state } = await makePlan(flags, terminal);
  const unfinished = state.migrations.filter(({ phase }) => phase === 'Moving');
  const moves = plan.moves.filter(({ node }) => name === undefined || node === name);
  const goOn = unfinished.filter(({ nodeName }) => name === undefined || nodeName === name);
  const begun = new Set(goOn.map(({ nodeName }) => nodeName));
  const fresh = moves.filter(({ node }) => !begun.has(node));
  const names = [...begun, ...fresh.map(({ node }) => node)].slice(0, limit);
  if (names.length === 0) {
    const refused = plan.refused.find(({ node }) => node === name);
    if (refused !== undefined) {
      throw new CadastreError('BAD_INPUT', `${name} cannot move: ${refused.detail}`);
    }
    if (name !== undefined && !state.nodes.some((node) => node.name === name)) {
      throw new CadastreError('BAD_INPUT', `there is no node "${name}"`, {
        remedy: 'cadastre nodes -o name lists them.',
      });
    }
    terminal.say(name === undefined ? 'No node has to move.' : `${name} does not have to move.`);
    if (name === undefined && plan.refused.length > 0) {
      terminal.say(`${plan.refused.length} cannot be served: cadastre migrate plan says why.`);
      terminal.exitCode = 1;
    }
    return;
  }
  const chosen = fresh.filter(({ node }) => names.includes(node));
  show(
    chosen,
    [...begun].filter((node) => names.includes(node)),
    terminal,
  );
  if (!(await askYes(terminal, flags.yes === true, `NodeMove ${names.join(', ')}?`))) return;
  await withMigrationRun(flags, terminal, timeoutMs, async (run) => {
    for (const node of names) {
      const move = chosen.find((one) => one.node === node);
      if (move !== undefined) {
        const pools = [...new Set(move.to.map(({ pool }) => pool))];
        await beginMove(run.client, { node, from: move.from, pools, method: move.method });
      }
      await runMigration({ ...run, say: sayOf(node, terminal) }, node);
      terminal.say(`${node}: moved`);
    }
  });
}

async function undoMove(name: string, flags: ApplyFlags, terminal: Terminal): Promise<void> {
  const timeoutMs = readSeconds('--timeout', flags.timeout, 1, 86_400) * 1000;
  if (!(await askYes(terminal, flags.yes === true, `Bring ${name} back to the blocks it had?`)))
    return;
  await withMigrationRun(flags, terminal, timeoutMs, async (run) => {
    const { phase } = await beginUndo(run.client, run.view, name);
    if (phase === 'Undone') {
      terminal.say(`${name}: already has the blocks it had`);
      return;
    }
    await runMigration({ ...run, say: sayOf(name, terminal) }, name);
    terminal.say(`${name}: has the blocks it had`);
  });
}

const sayOf = (node: string, terminal: Terminal) => (step: string, words: string) =>
  terminal.say(`${node}: ${step}: ${words}`);

async function withMigrationRun(
  flags: ApplyFlags,
  terminal: Terminal,
  timeoutMs: number,
  work: (run: Omit<MigrationRun, 'say'>) => Promise<void>,
): Promise<void> {
  const { clock } = terminal;
  const stopping = stopOnSignals();
  const ending = new AbortController();
  const signal = AbortSignal.any([stopping.signal, ending.signal]);
  let closeRouters = async () => {};
  const run = async (client: KubeClient) => {
    let routers: RouterWatch | undefined;
    if (flags.bmp !== undefined) {
      const watching = await watchRouters(readListen(flags.bmp, '--bmp'));
      closeRouters = watching.close;
      routers = watching.unseen;
    }
    const view = new MigrationView({ client, clock, log: silentLog }, signal, {
      may: { evict: flags.evict, restartAgent: flags.restartCiliumAgent },
      ciliumNamespace: flags.ciliumNamespace,
      routers,
    });
    await view.ready();
    await work({ client, view, clock, timeoutMs, signal: stopping.signal });
  };
  try {
    await withClient(flags, terminal, run, 4);
  } finally {
    ending.abort();
    stopping.done();
    await closeRouters();
  }
}

function show(moves: readonly NodeMove[], begun: readonly string[], terminal: Terminal): void {
  for (const node of begun) terminal.say(`${node}: continues from its last step`);
  for (const move of moves) {
    const rows = moveSteps(move).map(({ step, does, hurts }) => [step, does, hurts]);
    terminal.say(
      `${move.node}: ${move.from.join(', ')} → ${move.to.map(({ cidr }) => cidr).join(', ')}`,
    );
    terminal.say(renderTable(['STEP', 'WHAT', 'AFFECTS'], rows, terminal.columns).trimEnd());
  }
}

function readLimit({ limit, all }: ApplyFlags): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  if (all !== true) throw new CadastreError('BAD_FLAG', '--limit needs --all');
  return readWhole('--limit', limit, 1, 999_999);
}
