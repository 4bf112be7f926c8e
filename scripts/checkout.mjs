/**
 * Where things are, for every script: the checkout, and the cache folder
 * outside it that survives a fresh clone. Needs nothing but Node.
 */
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder that holds package.json. Found by walking up, because the benches
 * bundle this file into dist/, where it lies deeper than here.
 */
export const checkoutDir = findCheckout(dirname(fileURLToPath(import.meta.url)));

/** @param {string} start */
function findCheckout(start) {
  let dir = start;
  while (!existsSync(join(dir, 'package.json'))) {
    const parent = dirname(dir);
    if (parent === dir) throw new Error(`no package.json in ${start} or above it`);
    dir = parent;
  }
  return dir;
}

/** Things that are costly to make and safe to share between checkouts. */
export function cacheDir() {
  const own = process.env.CADASTRE_CACHE;
  if (own) return own;
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'cadastre');
}

/** Words go to stderr, so that a script's stdout stays data. @param {string} line */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** @param {number} startMs a value of performance.now() */
export function secondsSince(startMs) {
  const seconds = (performance.now() - startMs) / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** Did the caller start this very file (and not import it)? @param {string} metaUrl */
export function isMain(metaUrl) {
  const started = process.argv[1];
  // Bundled into a benchmark, a script's URL is the bundle's: that one is never a script.
  if (started === undefined || !realpathSync(started).startsWith(join(checkoutDir, 'scripts'))) {
    return false;
  }
  return fileURLToPath(metaUrl) === realpathSync(started);
}
