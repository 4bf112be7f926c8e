import { CadastreError } from '../base/errors.ts';
import type { Door } from './door.ts';

/** Nothing is changed before somebody said yes: a person at a terminal, or --yes. */
export async function askYes(door: Door, isSaid: boolean, question: string): Promise<boolean> {
  if (isSaid) return true;
  if (door.ask === undefined) {
    throw new CadastreError('BAD_USAGE', 'nobody is here to be asked; nothing was changed', {
      remedy: 'Add --yes to do it without asking.',
    });
  }
  const answer = await door.ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  door.say('Nothing was changed.');
  return false;
}
