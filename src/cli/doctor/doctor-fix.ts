import type { Command } from 'commander';
import { plural } from '../../base/count-text.ts';
import { CadastreError } from '../../base/errors.ts';
import { repair } from '../../doctor/repair-driver.ts';
import type { RepairPlan } from '../../plan/doctor/repair.ts';
import { askYes } from '../ask-yes.ts';
import { renderTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { type ViewFlagValues, withClient } from '../view/view-flags.ts';

export type FixFlagValues = ViewFlagValues & { fix?: boolean; yes?: boolean };

export function addFixFlags(command: Command): Command {
  return command
    .option('--fix', 'show what can be cured safely, and do it, one step at a time')
    .option('--yes', 'with --fix: do not ask');
}

/** A mistake in the flags needs no cluster. */
export function checkFixFlags(flags: FixFlagValues): void {
  if (flags.yes === true && flags.fix !== true) {
    throw new CadastreError('BAD_USAGE', '--yes needs --fix');
  }
  if (flags.fix === true && flags.from !== undefined) {
    throw new CadastreError(
      'BAD_USAGE',
      '--fix needs a cluster; with --from there are only files',
      {
        remedy: 'Leave --fix out to see the findings, each with its cure.',
      },
    );
  }
}

/** Shows the plan and does its steps. How many findings are left is the answer. */
export async function fixFindings(
  plan: RepairPlan,
  flags: FixFlagValues,
  terminal: Terminal,
): Promise<{ done: number; left: number }> {
  const { steps, advice } = plan;
  if (steps.length === 0) {
    if (advice.length > 0) {
      terminal.say(
        `Nothing can be cured safely from here; ${plural(advice.length, 'finding')} left.`,
      );
    }
    return { done: 0, left: advice.length };
  }
  const rows = steps.map(({ reason, does, safe }, at) => [
    `${at + 1}`,
    reason,
    `${does} (${safe})`,
  ]);
  terminal.say(renderTable(['STEP', 'CURES', 'WHAT'], rows, terminal.columns).trimEnd());
  let done = 0;
  await withClient(flags, terminal, async (client) => {
    for (const [at, step] of steps.entries()) {
      const question = `Step ${at + 1}: ${step.does}. Do it?`;
      if (!(await askYes(terminal, flags.yes === true, question))) continue;
      const outcome = await repair(client, step, terminal.clock.wallMs());
      if (outcome.kind === 'done') done += 1;
      terminal.say(`step ${at + 1}: ${outcome.kind === 'done' ? 'done' : `left: ${outcome.why}`}`);
    }
  });
  const left = steps.length - done + advice.length;
  terminal.say(
    `${done} of ${plural(steps.length, 'step')} done; ${plural(advice.length, 'finding')} stay advice.`,
  );
  return { done, left };
}
