/**
 * One builder at a time, across processes. The lock is a file that is created
 * exclusively and holds its owner's pid; a lock whose owner is gone is taken
 * over. Taking over renames the old file first, so that of two who see the
 * same dead owner only one succeeds.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @template T
 * @param {string} path
 * @param {(waitedMs: number, owner: number) => void} onWait called about every ten seconds
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(path, onWait, work) {
  mkdirSync(dirname(path), { recursive: true });
  const start = performance.now();
  let nextWord = start;
  while (!take(path)) {
    const owner = ownerOf(path);
    if (owner !== undefined && !isAlive(owner)) {
      takeAway(path, owner);
      continue;
    }
    if (performance.now() >= nextWord) {
      onWait(performance.now() - start, owner ?? 0);
      nextWord = performance.now() + 10_000;
    }
    await sleep(250);
  }
  const release = () => rmSync(path, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** @param {string} path */
function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} path */
function ownerOf(path) {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    // Empty for the instant between creation and the write of the pid.
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param {string} path @param {number} owner */
function takeAway(path, owner) {
  const aside = `${path}.${owner}.${process.pid}`;
  try {
    renameSync(path, aside);
    rmSync(aside, { force: true });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code;
}
