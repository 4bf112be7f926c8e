import { apiVersion } from '../../model/keys.ts';
import { printAnswer } from '../output.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { pickNamed } from '../view/look.ts';
import type { MigrateFlags } from './migrate-flags.ts';
import { makePlan } from './migrate-plan.ts';

export async function printStatus(
  names: readonly string[],
  flags: MigrateFlags,
  terminal: Terminal,
): Promise<void> {
  const { plan, state } = await makePlan(flags, terminal);
  // A node in the middle of its move may be away: then its NodeMigration vouches for it.
  const known = [
    ...state.nodes.map(({ name }) => name),
    ...state.migrations.map(({ nodeName }) => nodeName),
  ];
  pickNamed(known, names, 'node', (one, name) => one === name);
  const isAsked = (node: string) => names.length === 0 || names.includes(node);
  const migrations = state.migrations
    .filter(({ nodeName }) => isAsked(nodeName))
    .map((migration) => ({
      node: migration.nodeName,
      phase: migration.phase,
      step: migration.step,
      message: migration.message,
      method: migration.method,
      from: migration.from,
      now: state.blocks
        .filter(({ nodeName, phase }) => nodeName === migration.nodeName && phase === 'Active')
        .map(({ prefix }) => prefix.toString()),
    }));
  const isUnderWay = new Set(
    migrations.filter(({ phase }) => phase === 'Moving').map(({ node }) => node),
  );
  const left = plan.moves
    .map(({ node }) => node)
    .filter((node) => isAsked(node) && !isUnderWay.has(node));
  await printAnswer(terminal, flags.output, {
    data: { apiVersion, kind: 'MigrationStatus', migrations, left, refused: plan.refused },
    names: migrations.map(({ node }) => `nodemigration.cadastre.dev/${node}`),
    table: (columns) =>
      migrations.length === 0
        ? ''
        : renderTable(
            ['NODE', 'PHASE', 'FROM', 'NOW', 'STEP', 'MESSAGE'],
            migrations.map(({ node, phase, from, now, step, message }) => [
              node,
              phase,
              from.join(', '),
              now.join(', ') || '-',
              step || '-',
              message,
            ]),
            columns,
          ),
  });
  const moved = migrations.filter(({ phase }) => phase === 'Moved').length;
  terminal.say(
    `${moved} moved, ${isUnderWay.size} on their way, ${left.length} left${left.length > 0 ? `: ${left.slice(0, 10).join(', ')}${left.length > 10 ? ', …' : ''}` : ''}, ${plan.refused.length} cannot be served.`,
  );
}
