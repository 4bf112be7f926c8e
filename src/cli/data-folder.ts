import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CadastreError, describeError } from '../base/errors.ts';

/**
 * Makes the folder, or says why it cannot be one, before anything else is begun. It holds the
 * API server's token: in a folder that is somebody else's, that token could be theirs as well.
 */
export function prepareDataFolder(flag: string, dir: string): void {
  const missing: string[] = [];
  let there = dir;
  for (; !existsSync(there); there = dirname(there)) missing.unshift(there);
  try {
    if (missing.length === 0) refuseForeign(flag, dir);
    if (!statSync(there).isDirectory()) throw new Error(`${there} is no folder`);
    accessSync(there, constants.W_OK | constants.X_OK);
    // One by one: mkdir with all its parents never returns below /proc.
    for (const each of missing) mkdirSync(each, { mode: 0o700 });
  } catch (cause) {
    if (cause instanceof CadastreError) throw cause;
    const why = describeError(cause).replace(/^E[A-Z]+: /, '');
    throw new CadastreError('BAD_FLAG', `${flag}=${dir} cannot be written to: ${why}`, {
      cause,
      remedy: `Give ${flag} a folder that is yours.`,
    });
  }
}

function refuseForeign(flag: string, dir: string): void {
  const { uid, mode } = statSync(dir);
  const isOurs = uid === process.getuid?.() || uid === 0;
  if (isOurs && (mode & 0o002) === 0) return;
  const why = isOurs ? 'can be written to by every user' : 'belongs to another user';
  throw new CadastreError('BAD_FLAG', `${flag}=${dir} ${why}`, {
    remedy: `Give ${flag} a folder that is yours alone, or one that does not exist yet.`,
  });
}
