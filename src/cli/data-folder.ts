import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CadastreError, describeError } from '../base/errors.ts';

/** Makes the folder, or says why it cannot be one, before anything else is begun. */
export function prepareDataFolder(flag: string, dir: string): void {
  const missing: string[] = [];
  let there = dir;
  for (; !existsSync(there); there = dirname(there)) missing.unshift(there);
  try {
    if (!statSync(there).isDirectory()) throw new Error(`${there} is no folder`);
    accessSync(there, constants.W_OK | constants.X_OK);
    // One by one: mkdir with all its parents never returns below /proc.
    for (const each of missing) mkdirSync(each, { mode: 0o700 });
  } catch (cause) {
    const why = describeError(cause).replace(/^E[A-Z]+: /, '');
    throw new CadastreError('BAD_FLAG', `${flag}=${dir} cannot be written to: ${why}`, {
      cause,
      remedy: `Give ${flag} a folder that is yours.`,
    });
  }
}
