/**
 * Is the built command line older than what it is built from? Asked on every
 * start of bin/cadastre, so it only looks at times: a few milliseconds.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir } from './checkout.mjs';

export const cliEntry = join(checkoutDir, 'src/cli/main.ts');
export const cliBundle = join(checkoutDir, 'dist/cadastre.mjs');

export function isCliStale() {
  const built = statSync(cliBundle, { throwIfNoEntry: false })?.mtimeMs;
  if (built === undefined) return true;
  const inputs = [
    'package.json',
    'package-lock.json',
    'scripts/build.mjs',
    'scripts/third-party.mjs',
  ];
  return (
    inputs.some((path) => statSync(join(checkoutDir, path)).mtimeMs > built) ||
    hasNewer(join(checkoutDir, 'src'), built)
  );
}

/**
 * A folder's own time counts too: it changes when a file is removed or renamed.
 * @param {string} dir
 * @param {number} timeMs
 * @returns {boolean}
 */
function hasNewer(dir, timeMs) {
  if (statSync(dir).mtimeMs > timeMs) return true;
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) {
      if (hasNewer(path, timeMs)) return true;
    } else if (!entry.name.endsWith('.test.ts') && statSync(path).mtimeMs > timeMs) return true;
  }
  return false;
}
