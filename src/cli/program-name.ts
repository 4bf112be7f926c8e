import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { shellWord } from '../base/shell-word.ts';

/**
 * How this program is called where the reader is: `cadastre` once installed;
 * `bin/cadastre` in a checkout, where nothing of that name is in the PATH.
 */
export function programName(script = process.argv[1], cwd = process.cwd()): string {
  if (script === undefined || !existsSync(script)) return 'cadastre';
  const checkout = dirname(dirname(realpathSync(script)));
  const program = join(checkout, 'bin/cadastre');
  // The package has no bin folder: only a checkout has.
  if (!existsSync(program)) return 'cadastre';
  const near = relative(cwd, program);
  return shellWord(near.startsWith('..') ? program : near);
}

/** What was typed. kubectl asks for completions by a name of its own, with the words alone. */
export function argumentsOf([, script = '', ...words]: readonly string[]): string[] {
  return basename(script) === 'kubectl_complete-cadastre' ? ['__complete', '--', ...words] : words;
}
