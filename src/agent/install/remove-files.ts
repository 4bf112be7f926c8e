/**
 * The files that an installed agent leaves on a node: network configuration, plugin, the folder
 * of its socket, and its state. What is not there is passed over, so it can be done twice.
 */
import { readdir, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { conflistName, isOurConflist } from './conflist.ts';
import { networkFiles } from './install-cni.ts';

/** What was done, one line each; `kept` is what was left, and why. */
export interface Removal {
  removed: string[];
  kept: string[];
}

/** First of all: from here on the runtime starts no pod on our network. */
export async function removeConflist(confDir: string): Promise<Removal> {
  const path = join(confDir, conflistName);
  const removal: Removal = { removed: [], kept: [] };
  const text = await ifThere(readFile(path, 'utf8'));
  if (text !== undefined && isOurConflist(text)) {
    await rm(path);
    removal.removed.push(path);
  } else if (text !== undefined) {
    // Somebody's work is not deleted; runtimes do not read a file of this name.
    await rename(path, `${path}.removed`);
    removal.removed.push(`${path}, which was edited: kept as ${path}.removed`);
  }
  for (const name of (await ifThere(networkFiles(confDir))) ?? []) {
    const other = await readFile(join(confDir, name), 'utf8');
    if (!/"type"\s*:\s*"cadastre"/.test(other)) continue;
    removal.kept.push(`${join(confDir, name)}, which still names the plugin cadastre`);
  }
  return removal;
}

export async function removePlugin(binDir: string): Promise<Removal> {
  return removePaths([join(binDir, 'cadastre')]);
}

/** The folder itself only if nothing else is in it; in a container it is a mount and stays. */
export async function removeSocket(socketPath: string): Promise<Removal> {
  const paths = ['', '.lock', '.ready'].map((end) => `${socketPath}${end}`);
  const removal = await removePaths(paths);
  await rmdir(dirname(socketPath)).catch(() => undefined);
  return removal;
}

/** Addresses of pods, the queue of DELs, the last known state. */
export async function removeState(stateFolder: string): Promise<Removal> {
  const names = (await ifThere(readdir(stateFolder))) ?? [];
  if (names.length === 0) return { removed: [], kept: [] };
  if (!names.includes('addresses.journal') && !names.includes('lock')) {
    throw new CadastreError('BAD_FLAG', `${stateFolder} is not the state folder of an agent`);
  }
  for (const name of names) await rm(join(stateFolder, name), { recursive: true });
  await rmdir(stateFolder).catch(() => undefined);
  return { removed: [`${stateFolder} with ${names.length} files`], kept: [] };
}

async function removePaths(paths: readonly string[]): Promise<Removal> {
  const removed: string[] = [];
  for (const path of paths) {
    if ((await ifThere(rm(path).then(() => path))) !== undefined) removed.push(path);
  }
  return { removed, kept: [] };
}

async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
