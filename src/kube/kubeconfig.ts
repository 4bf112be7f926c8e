import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { CadastreError } from '../base/errors.ts';
import { fileFault, readTextFile } from '../base/text-file.ts';
import type { KubeAccess } from './access.ts';
import { ComposedCredentials } from './credentials.ts';
import { FileValue } from './file-value.ts';
import { accessOf } from './kubeconfig-context.ts';
import { readKubeConfigs } from './kubeconfig-file.ts';

export interface LoadOptions {
  /** A path, as from --kubeconfig. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  inClusterDir?: string | undefined;
  clock?: Clock | undefined;
}

const serviceAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Finds the cluster the way people expect: the path they gave, $KUBECONFIG,
 * the pod's own service account, ~/.kube/config; the first that is there
 * decides, and if it is broken that is an error, never a reason to try the
 * next. Every refusal names the file, the line and the field, and no value.
 */
export async function loadKubeConfig(options: LoadOptions = {}): Promise<KubeAccess> {
  const env = options.env ?? process.env;
  const clock = options.clock ?? systemClock;
  refuseContent('--kubeconfig', options.kubeconfig);
  refuseContent('$KUBECONFIG', env.KUBECONFIG);
  if (options.kubeconfig !== undefined) {
    const config = readKubeConfigs([resolve(options.kubeconfig)], { skipMissing: false });
    return accessOf(config, options.context, env, clock);
  }
  if (env.KUBECONFIG) {
    const paths = env.KUBECONFIG.split(delimiter)
      .filter((path) => path !== '')
      .map((path) => resolve(path));
    const config = readKubeConfigs(paths, { skipMissing: true });
    if (config.files.length > 0) return accessOf(config, options.context, env, clock);
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `$KUBECONFIG is "${env.KUBECONFIG}", and no such file exists.`,
      { remedy: 'Correct or unset $KUBECONFIG.' },
    );
  }
  if (env.KUBERNETES_SERVICE_HOST && options.context === undefined) {
    return inCluster(env, options.inClusterDir ?? serviceAccountDir, clock);
  }
  const path = join(env.HOME || homedir(), '.kube', 'config');
  const config = readKubeConfigs([path], { skipMissing: true });
  if (config.files.length > 0) return accessOf(config, options.context, env, clock);
  throw new CadastreError(
    'BAD_KUBECONFIG',
    `There is no kubeconfig: --kubeconfig and $KUBECONFIG are not set, this is not a pod, and ${path} does not exist.`,
    { remedy: 'Give the path of a kubeconfig with --kubeconfig.' },
  );
}

/** A path was asked for; a whole kubeconfig in its place must not come back in the message. */
function refuseContent(what: string, path: string | undefined): void {
  if (path === undefined || !/[\n{]/.test(path)) return;
  throw new CadastreError(
    'BAD_KUBECONFIG',
    `${what} is not the path of a kubeconfig: it has line breaks or braces in it.`,
    { remedy: 'Write the kubeconfig to a file, and give the path of that.' },
  );
}

async function inCluster(env: NodeJS.ProcessEnv, dir: string, clock: Clock): Promise<KubeAccess> {
  const host = env.KUBERNETES_SERVICE_HOST!;
  const port = env.KUBERNETES_SERVICE_PORT || '443';
  const read = <T>(file: string, how: (path: string) => T): T => {
    try {
      return how(join(dir, file));
    } catch (error) {
      throw new CadastreError(
        'BAD_KUBECONFIG',
        `The pod's service account file ${join(dir, file)} could not be read: ${fileFault(error)}.`,
        { remedy: 'Do not set automountServiceAccountToken: false for this pod.' },
      );
    }
  };
  const token = read('token', (path) => new FileValue(path, clock));
  const ca = read('ca.crt', (path) => readTextFile(path));
  const namespace = await readFile(join(dir, 'namespace'), 'utf8').catch(() => 'default');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    tls: { ca },
    credentials: new ComposedCredentials({ token }),
    namespace: namespace.trim() || 'default',
    origin: `the service account in ${dir}`,
  };
}
