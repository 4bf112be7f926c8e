/**
 * One package of the npm registry, for whatever platform it is, unpacked in the cache
 * folder. Its content is checked; nothing of it is run.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, say, secondsSince } from '../checkout.mjs';
import { withLock } from '../lock.mjs';
import { runNpm } from '../npm.mjs';

/**
 * @param {string} name
 * @param {string} version
 * @param {string} integrity as package-lock.json has it: sha512-…
 * @returns {Promise<string>} the folder with its package.json
 */
export async function ensureNpmPackage(name, version, integrity) {
  const dir = join(cacheDir(), 'npm', `${name.replace('/', '-')}-${version}`);
  const onWait = (/** @type {number} */ _waitedMs, /** @type {number} */ owner) =>
    say(`image: process ${owner} is fetching ${name}; waiting`);
  await withLock(`${dir}.lock`, onWait, async () => {
    if (existsSync(dir)) return;
    const start = performance.now();
    say(`image: fetching ${name} ${version} (once)`);
    const unfinished = `${dir}.${process.pid}`;
    mkdirSync(unfinished, { recursive: true });
    try {
      await fetchInto(unfinished, `${name}@${version}`, integrity);
      renameSync(join(unfinished, 'package'), dir);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
    say(`image: fetched in ${secondsSince(start)}`);
  });
  return dir;
}

/** @param {string} folder @param {string} wanted @param {string} integrity */
async function fetchInto(folder, wanted, integrity) {
  await runNpm(['pack', '--ignore-scripts', '--pack-destination', folder, wanted], {
    cwd: folder,
    quiet: true,
  });
  const file = join(folder, readdirSync(folder)[0] ?? '');
  const seen = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (seen !== integrity) throw new Error(`${wanted} is ${seen}, and not the pinned ${integrity}`);
  const { status, stderr } = spawnSync('tar', ['-xzf', file, '-C', folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`tar could not unpack ${wanted}: ${stderr}`);
}
