/**
 * `npm run package -- [FOLDER]`: the package as it is published, cadastre-VERSION.tgz.
 * `npm publish cadastre-VERSION.tgz` then publishes exactly the file that was looked at.
 *
 * `npm pack` alone is no way: .npmrc switches every package's scripts off, ours too, so
 * that it would take dist as it happens to lie there. Where scripts are allowed, prepack
 * (`--build`) does the same.
 */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { checkoutDir, isMain, say } from './checkout.mjs';
import { runNpm } from './npm.mjs';
import { setUp } from './setup.mjs';
import { cliBundle } from './stale.mjs';

/**
 * Builds dist anew, and removes the parts of older builds, which are kept for a day
 * otherwise. The manual page beside it is made by the program itself.
 */
async function buildAnew() {
  if (statSync(cliBundle, { throwIfNoEntry: false })) utimesSync(cliBundle, 0, 0);
  await setUp({ quiet: true });
  const builtAtMs = statSync(cliBundle).mtimeMs;
  const dist = dirname(cliBundle);
  for (const name of readdirSync(dist).filter((one) => one.startsWith('part-'))) {
    if (statSync(join(dist, name)).mtimeMs < builtAtMs) rmSync(join(dist, name));
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [cliBundle, 'man']);
  if (status !== 0) throw new Error(`the manual page could not be made: ${stderr}`);
  writeFileSync(join(dist, 'cadastre.1'), stdout);
}

/** @param {string} folder @returns {Promise<string>} the archive */
export async function makePackage(folder) {
  await buildAnew();
  mkdirSync(folder, { recursive: true });
  await runNpm(['pack', '--ignore-scripts', '--pack-destination', folder], {
    cwd: checkoutDir,
    quiet: true,
  });
  const { version } = JSON.parse(readFileSync(join(checkoutDir, 'package.json'), 'utf8'));
  return join(folder, `cadastre-${version}.tgz`);
}

if (isMain(import.meta.url)) {
  const [word = 'artefacts'] = process.argv.slice(2);
  try {
    if (word === '--build') await buildAnew();
    else {
      say(`package: ${await makePackage(resolve(word))}`);
    }
  } catch (error) {
    say(`package: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
