import { CommanderError } from 'commander';
import { CadastreError } from '../base/errors.ts';
import type { Terminal } from './terminal.ts';

/**
 * Tells a failure and gives its exit code. What we foresaw is a sentence and a
 * remedy; its stack would only hide them. What we did not foresee is our bug,
 * and shows its stack.
 */
export function tellFailure(error: unknown, terminal: Terminal, isDebug: boolean): number {
  if (error instanceof CommanderError) {
    // Commander has said it already; asking for help or the version is no failure.
    return error.exitCode === 0 ? 0 : 2;
  }
  if (!(error instanceof CadastreError)) {
    terminal.say(
      `cadastre: this is a bug: ${error instanceof Error ? error.stack : String(error)}`,
    );
    return terminal.failureCode ?? 1;
  }
  for (const line of error.message.split('\n')) terminal.say(`cadastre: ${line}`);
  if (error.remedy !== undefined) terminal.say(error.remedy);
  if (isDebug && error.stack !== undefined) {
    terminal.say(error.stack);
    if (error.cause instanceof Error) terminal.say(`caused by ${error.cause.stack}`);
  }
  return error.code === 'BAD_USAGE' || error.code === 'BAD_FLAG' ? 2 : (terminal.failureCode ?? 1);
}
