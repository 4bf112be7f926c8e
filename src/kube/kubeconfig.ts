import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { CadastreError, describeError } from '../base/errors.ts';
import type { CredentialSource, KubeAccess } from './access.ts';
import { ComposedCredentials, type MaybeFile } from './credentials.ts';
import { ExecCredentials } from './exec-credentials.ts';
import { FileValue } from './file-value.ts';
import {
  dataField,
  describeEntry,
  type Entry,
  type MergedConfig,
  pathField,
  readKubeConfigs,
  refuseEntry,
  textField,
} from './kubeconfig-file.ts';

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
 * next. Every refusal names the file, the entry and the value.
 */
export async function loadKubeConfig(options: LoadOptions = {}): Promise<KubeAccess> {
  const env = options.env ?? process.env;
  const clock = options.clock ?? systemClock;
  if (options.kubeconfig !== undefined) {
    const config = await readKubeConfigs([resolve(options.kubeconfig)], { skipMissing: false });
    return accessOf(config, options.context, env, clock);
  }
  if (env.KUBECONFIG) {
    const paths = env.KUBECONFIG.split(delimiter)
      .filter((path) => path !== '')
      .map((path) => resolve(path));
    const config = await readKubeConfigs(paths, { skipMissing: true });
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
  const config = await readKubeConfigs([path], { skipMissing: true });
  if (config.files.length > 0) return accessOf(config, options.context, env, clock);
  throw new CadastreError(
    'BAD_KUBECONFIG',
    `There is no kubeconfig: --kubeconfig and $KUBECONFIG are not set, this is not a pod, and ${path} does not exist.`,
    { remedy: 'Give the path of a kubeconfig with --kubeconfig.' },
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
        `The pod's service account file ${join(dir, file)} could not be read: ${describeError(error)}.`,
        { remedy: 'Do not set automountServiceAccountToken: false for this pod.' },
      );
    }
  };
  const token = read('token', (path) => new FileValue(path, clock));
  const ca = read('ca.crt', (path) => readFileSync(path, 'utf8'));
  const namespace = await readFile(join(dir, 'namespace'), 'utf8').catch(() => 'default');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    tls: { ca },
    credentials: new ComposedCredentials({ token }),
    namespace: namespace.trim() || 'default',
    origin: `the service account in ${dir}`,
  };
}

function accessOf(
  config: MergedConfig,
  wanted: string | undefined,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): KubeAccess {
  const where = config.files.join(delimiter);
  const name = wanted ?? config.currentContext;
  if (name === undefined) {
    throw new CadastreError('BAD_KUBECONFIG', `The kubeconfig ${where} has no current-context.`, {
      remedy: `Choose one with --context: ${[...config.contexts.keys()].join(', ') || 'it has none'}.`,
    });
  }
  const context = config.contexts.get(name);
  if (context === undefined) {
    throw new CadastreError('BAD_KUBECONFIG', `The kubeconfig ${where} has no context "${name}".`, {
      remedy: `It has: ${[...config.contexts.keys()].join(', ') || 'none'}.`,
    });
  }
  const cluster = referred(context, 'cluster', config.clusters);
  if (cluster === undefined) throw refuseEntry(context, 'names no cluster');
  const user = referred(context, 'user', config.users);
  return {
    server: serverOf(cluster),
    tls: {
      ca: authorityOf(cluster),
      insecureSkipVerify: cluster.value['insecure-skip-tls-verify'] === true,
      serverName: textField(cluster, 'tls-server-name'),
    },
    credentials:
      user === undefined ? new ComposedCredentials({}) : credentialsOf(user, cluster, env, clock),
    headers: user === undefined ? undefined : impersonationOf(user),
    namespace: textField(context, 'namespace') ?? 'default',
    origin: describeEntry(context),
  };
}

function referred(
  context: Entry,
  field: 'cluster' | 'user',
  entries: ReadonlyMap<string, Entry>,
): Entry | undefined {
  const name = textField(context, field);
  if (name === undefined) return undefined;
  const entry = entries.get(name);
  if (entry === undefined) {
    throw refuseEntry(
      context,
      `names the ${field} "${name}", which does not exist`,
      `It has: ${[...entries.keys()].join(', ') || 'none'}.`,
    );
  }
  return entry;
}

function serverOf(cluster: Entry): string {
  const server = textField(cluster, 'server');
  if (server === undefined) throw refuseEntry(cluster, 'has no server');
  const proxy = textField(cluster, 'proxy-url');
  if (proxy !== undefined) {
    throw refuseEntry(
      cluster,
      `has proxy-url "${proxy}", and proxies are not supported`,
      'Remove proxy-url and reach the API server directly, through a port-forward or a tunnel.',
    );
  }
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw refuseEntry(
      cluster,
      `has server "${server}", which is not an http(s) URL`,
      'Write it like https://10.0.0.1:6443.',
    );
  }
  return server.replace(/\/+$/, '');
}

function authorityOf(cluster: Entry): string | undefined {
  const insecure = cluster.value['insecure-skip-tls-verify'] === true;
  const data = dataField(cluster, 'certificate-authority-data');
  const path = pathField(cluster, 'certificate-authority');
  if (insecure && (data !== undefined || path !== undefined)) {
    throw refuseEntry(
      cluster,
      'has both certificate-authority and insecure-skip-tls-verify: true',
      'Keep certificate-authority.',
    );
  }
  if (data !== undefined) return checkPem(cluster, 'certificate-authority-data', data);
  if (path === undefined) return undefined;
  return checkPem(
    cluster,
    'certificate-authority',
    readPart(cluster, 'certificate-authority', () => readFileSync(path, 'utf8')),
  );
}

function credentialsOf(
  user: Entry,
  cluster: Entry,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): CredentialSource {
  if (user.value['auth-provider'] !== undefined) {
    throw refuseEntry(
      user,
      'has an auth-provider, which Kubernetes removed in 1.26',
      'Use an exec plugin.',
    );
  }
  if (user.value.exec !== undefined && user.value.exec !== null) {
    return new ExecCredentials(execPluginOf(user, cluster, env), clock);
  }
  const file = (field: string): FileValue | undefined => {
    const path = pathField(user, field);
    return path === undefined ? undefined : readPart(user, field, () => new FileValue(path, clock));
  };
  const pem = (field: string): MaybeFile | undefined => {
    const data = dataField(user, `${field}-data`);
    const value = data ?? file(field);
    if (value === undefined) return undefined;
    checkPem(user, field, typeof value === 'string' ? value : value.read());
    return value;
  };
  const cert = pem('client-certificate');
  const key = pem('client-key');
  if ((cert === undefined) !== (key === undefined)) {
    throw refuseEntry(
      user,
      `has ${cert === undefined ? 'client-key without client-certificate' : 'client-certificate without client-key'}`,
    );
  }
  const username = textField(user, 'username');
  const basic = Buffer.from(`${username}:${textField(user, 'password') ?? ''}`).toString('base64');
  return new ComposedCredentials({
    cert,
    key,
    // As in client-go, tokenFile wins over token.
    token: file('tokenFile') ?? textField(user, 'token'),
    authorization: username === undefined ? undefined : `Basic ${basic}`,
  });
}

function execPluginOf(user: Entry, cluster: Entry, env: NodeJS.ProcessEnv) {
  const exec = user.value.exec as Record<string, unknown>;
  const { command, args, apiVersion } = exec;
  if (typeof command !== 'string' || command === '') {
    throw refuseEntry(user, 'has an exec plugin without a command');
  }
  if (
    apiVersion !== 'client.authentication.k8s.io/v1' &&
    apiVersion !== 'client.authentication.k8s.io/v1beta1'
  ) {
    throw refuseEntry(
      user,
      `has an exec plugin of apiVersion ${JSON.stringify(apiVersion)}`,
      'client.authentication.k8s.io/v1 and v1beta1 are understood.',
    );
  }
  if (exec.interactiveMode === 'Always') {
    throw refuseEntry(
      user,
      `has the exec plugin "${command}" with interactiveMode Always, and nobody is there to answer it`,
    );
  }
  const extra = Array.isArray(exec.env) ? exec.env : [];
  return {
    command: /[/\\]/.test(command) ? resolve(dirname(user.file), command) : command,
    args: Array.isArray(args) ? args.map(String) : [],
    env: { ...env, ...Object.fromEntries(extra.map((item) => [item?.name, String(item?.value)])) },
    apiVersion: apiVersion as 'client.authentication.k8s.io/v1',
    cluster: exec.provideClusterInfo === true ? clusterInfoOf(cluster) : undefined,
    installHint: typeof exec.installHint === 'string' ? exec.installHint : undefined,
    owner: describeEntry(user),
  };
}

function clusterInfoOf(cluster: Entry): object {
  const ca = authorityOf(cluster);
  return {
    server: serverOf(cluster),
    'tls-server-name': textField(cluster, 'tls-server-name'),
    'insecure-skip-tls-verify': cluster.value['insecure-skip-tls-verify'] === true || undefined,
    'certificate-authority-data': ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
  };
}

function impersonationOf(user: Entry): Record<string, string> | undefined {
  const as = textField(user, 'as');
  const unsupported = ['as-uid', 'as-groups', 'as-user-extra'].find(
    (field) => user.value[field] !== undefined,
  );
  if (unsupported !== undefined) {
    throw refuseEntry(user, `has ${unsupported}, and only plain "as" is supported`);
  }
  return as === undefined ? undefined : { 'impersonate-user': as };
}

function readPart<T>(entry: Entry, field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refuseEntry(
      entry,
      `has ${field} "${String(entry.value[field])}", which could not be read: ${describeError(error)}`,
    );
  }
}

function checkPem(entry: Entry, field: string, text: string): string {
  if (/-----BEGIN [A-Z0-9 ]+-----/.test(text)) return text;
  throw refuseEntry(entry, `has ${field} that holds no PEM block`);
}
