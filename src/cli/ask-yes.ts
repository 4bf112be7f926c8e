import { CadastreError } from '../base/errors.ts';
import type { Terminal } from './terminal.ts';

/** Nothing is changed before somebody said yes: a person at a terminal, or --yes. */
export async function askYes(
  terminal: Terminal,
  isSaid: boolean,
  question: string,
): Promise<boolean> {
  if (isSaid) return true;
  if (terminal.ask === undefined) {
    throw new CadastreError('BAD_USAGE', 'nobody is here to be asked; nothing was changed', {
      remedy: 'Add --yes to do it without asking.',
    });
  }
  const answer = await terminal.ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  terminal.say('Nothing was changed.');
  return false;
}
