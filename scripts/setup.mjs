/**
 * Makes a fresh clone usable: installs the packages and builds the command
 * line, each only when needed. Needs nothing but Node and npm.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, checkoutDir, isMain, say, secondsSince } from './checkout.mjs';
import { withLock } from './lock.mjs';
import { runNpm } from './npm.mjs';

const lockFile = join(checkoutDir, 'package-lock.json');
const packages = join(checkoutDir, 'node_modules');
const installed = join(packages, '.package-lock.json');
const stamp = join(packages, '.cadastre-setup');

/** @param {{ quiet?: boolean }} options quiet: says only what takes time */
export async function setUp(options = {}) {
  checkNode();
  const key = createHash('sha256').update(checkoutDir).digest('hex').slice(0, 16);
  const onWait = (/** @type {number} */ waitedMs, /** @type {number} */ owner) =>
    say(`setup: process ${owner} is setting up; waiting (${Math.round(waitedMs / 1000)} s)`);
  await withLock(join(cacheDir(), 'locks', `${key}.lock`), onWait, async () => {
    await install(options.quiet ?? false);
    // Imported late: it needs esbuild, which may have come only now.
    const { buildCli } = await import('./build.mjs');
    await buildCli(options);
  });
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new Error(`Node ${process.versions.node} is too old: Cadastre needs 20.19 or newer`);
}

/** @param {boolean} quiet */
async function install(quiet) {
  const wanted = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
  if (isInstalled(wanted)) {
    if (!quiet) say('setup: packages are installed');
    return;
  }
  const start = performance.now();
  say('setup: installing packages (npm ci)');
  // npm empties the folder first. One that is only linked here belongs to another checkout.
  if (lstatSync(packages, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(packages);
  // No package of ours needs its install scripts; what is not run cannot surprise.
  await runNpm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: checkoutDir });
  writeFileSync(stamp, wanted);
  say(`setup: packages installed in ${secondsSince(start)}`);
}

/** @param {string} wanted */
function isInstalled(wanted) {
  if (!existsSync(installed)) return false;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return true;
  // Somebody ran npm by hand since the lock file last changed: that is as good.
  if (statSync(installed).mtimeMs < statSync(lockFile).mtimeMs) return false;
  writeFileSync(stamp, wanted);
  return true;
}

if (isMain(import.meta.url)) {
  try {
    await setUp();
  } catch (error) {
    say(`setup: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
