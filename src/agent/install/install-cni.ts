/**
 * Puts the CNI plugin and its network configuration on the node. A runtime may start the
 * plugin, or read the folder, at any moment: both files are replaced in one step. A
 * configuration that somebody edited is kept; one that we wrote is brought up to date.
 */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import {
  access,
  chmod,
  copyFile,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { CadastreError } from '../../base/errors.ts';
import { fileFault } from '../../base/text-file.ts';
import type { CniVersion } from '../cni/cni-call.ts';
import {
  chooseConflist,
  conflistName,
  conflistText,
  type FoundPortmap,
  isOurConflist,
} from './conflist.ts';

/** `removed` and `none`: the plugin alone was asked for. */
type ConflistOutcome = 'written' | 'replaced' | 'unchanged' | 'kept' | 'removed' | 'none';

export interface CniInstallation {
  plugin: string;
  conflist: { path: string; outcome: ConflistOutcome };
  /** Which versions and plugins, and why; absent if an edited file was kept. */
  choice?: string;
  /** A configuration of another network that the runtime reads before ours, and so uses. */
  hiddenBy?: string;
}

interface InstallOptions {
  /** The plugin to install. */
  source: string;
  binDir: string;
  confDir: string;
  cniVersion?: CniVersion | undefined;
  /** The plugin alone: another one names it as ipam.type, and has the network's configuration. */
  ipamOnly?: boolean | undefined;
}

export async function installCni(options: InstallOptions): Promise<CniInstallation> {
  const { source, binDir, confDir } = options;
  for (const folder of [binDir, confDir]) await assertWritable(folder);
  const plugin = join(binDir, 'cadastre');
  const next = join(binDir, `.cadastre.${process.pid}`);
  await inOneStep(next, plugin, async () => {
    await copyFile(source, next);
    await chmod(next, 0o755);
  });
  const path = join(confDir, conflistName);
  const before = await readIfThere(path);
  if (options.ipamOnly) return { plugin, conflist: { path, outcome: await leave(path, before) } };
  const hiddenBy = (await networkFiles(confDir)).find((name) => name < conflistName);
  const hidden = hiddenBy === undefined ? {} : { hiddenBy: join(confDir, hiddenBy) };
  if (before !== undefined && !isOurConflist(before)) {
    return { plugin, conflist: { path, outcome: 'kept' }, ...hidden };
  }
  const choice = chooseConflist(await findPortmap(binDir), options.cniVersion);
  const text = conflistText(choice);
  // A runtime reads the folder anew at every change in it.
  if (text !== before) {
    const nextConf = join(confDir, `.cadastre.${process.pid}`);
    await inOneStep(nextConf, path, () => writeFile(nextConf, text, { mode: 0o644 }));
  }
  const outcome = before === undefined ? 'written' : text === before ? 'unchanged' : 'replaced';
  return { plugin, conflist: { path, outcome }, choice: choice.why, ...hidden };
}

/** Our configuration of an earlier installation would compete with that of the other plugin. */
async function leave(path: string, before: string | undefined): Promise<ConflistOutcome> {
  if (before === undefined) return 'none';
  if (!isOurConflist(before)) return 'kept';
  await rm(path);
  return 'removed';
}

/** What a runtime reads in that folder, in its order. */
export async function networkFiles(confDir: string): Promise<string[]> {
  const names = await readdir(confDir);
  return names.filter((name) => /\.(conf|conflist|json)$/.test(name)).sort();
}

async function assertWritable(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    throw new CadastreError('BAD_INPUT', `${folder}: ${fileFault(error)}`, {
      cause: error,
      remedy: 'Create the folder, or name the one that the runtime uses.',
    });
  });
  if (!found.isDirectory()) throw new CadastreError('BAD_INPUT', `${folder} is not a folder`);
  // Root without DAC_OVERRIDE is bound by the mode of a folder like everybody else.
  await access(folder, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    const message = `user ${process.getuid?.()} may not write to ${folder}, which belongs to user ${found.uid}`;
    const remedy = 'Give the container the capability DAC_OVERRIDE, or the folder to root.';
    throw new CadastreError('STATE_NOT_WRITTEN', message, { cause: error, remedy });
  });
}

async function inOneStep(next: string, path: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw new CadastreError('STATE_NOT_WRITTEN', `${path} could not be written`, { cause: error });
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new CadastreError('BAD_INPUT', `${path}: ${fileFault(error)}`, { cause: error });
  });
}

/** The program itself knows best what it supports. It is asked from wherever we run. */
async function findPortmap(binDir: string): Promise<FoundPortmap> {
  const path = join(binDir, 'portmap');
  if ((await stat(path).catch(() => undefined)) === undefined) return { isThere: false };
  const env = { CNI_COMMAND: 'VERSION' };
  const said = await new Promise<string>((resolve) => {
    const child = execFile(path, { env, timeout: 5_000 }, (_, stdout) => resolve(stdout));
    // One that cannot be started (another libc, another machine) reads nothing.
    child.stdin?.on('error', () => undefined).end('{"cniVersion":"1.0.0"}');
  });
  try {
    const { supportedVersions } = JSON.parse(said) as { supportedVersions?: string[] };
    if (Array.isArray(supportedVersions)) return { isThere: true, versions: supportedVersions };
  } catch {
    // It did not answer in JSON: what it knows is unknown.
  }
  return { isThere: true };
}
