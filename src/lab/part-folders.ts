/** Where the real parts of Kubernetes are on this machine: what a checkout's `npm test` has built. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

export function cacheFolder(env: NodeJS.ProcessEnv): string {
  return (
    env.CADASTRE_CACHE ||
    join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'cadastre')
  );
}

export function searchPath(env: NodeJS.ProcessEnv): string[] {
  return (env.PATH ?? '').split(delimiter).filter((dir) => dir !== '');
}

/** $KUBEBUILDER_ASSETS, the search path, then the builds of these kinds in the cache. */
export function partFolders(env: NodeJS.ProcessEnv, kinds: ReadonlyArray<'kube' | 'cluster'>) {
  const built = kinds.flatMap((kind) =>
    youngestFirst(join(cacheFolder(env), 'parts'), new RegExp(`^${kind}-[0-9a-f]+$`)),
  );
  return [env.KUBEBUILDER_ASSETS ?? '', ...searchPath(env), ...built].filter((dir) => dir !== '');
}

/** The folders of that name, the youngest first. */
export function youngestFirst(folder: string, pattern: RegExp): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => pattern.test(name))
    .map((name) => join(folder, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
}
