import { delimiter } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { plural } from '../base/count-text.ts';
import { CadastreError } from '../base/errors.ts';
import { readTextFile } from '../base/text-file.ts';
import type { KubeAccess } from './access.ts';
import { ComposedCredentials } from './credentials.ts';
import {
  checkPem,
  dataField,
  describeEntry,
  type KubeconfigEntry,
  type MergedConfig,
  pathField,
  readPart,
  refuseEntry,
  refuseField,
  textField,
} from './kubeconfig-file.ts';
import { credentialsOf, impersonationOf } from './kubeconfig-user.ts';

/** A context of a kubeconfig, followed to its cluster and its user. */
export function accessOf(
  config: MergedConfig,
  wanted: string | undefined,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): KubeAccess {
  const files = config.files.join(delimiter);
  const { currentContext, contexts } = config;
  const name = wanted ?? currentContext?.name;
  const context = name === undefined ? undefined : contexts.get(name);
  if (context === undefined) {
    const lacks =
      wanted !== undefined
        ? `The kubeconfig ${files} has no context "${wanted}"`
        : currentContext === undefined
          ? `The kubeconfig ${files} has no current-context`
          : `The kubeconfig has no context of the name that current-context says (${currentContext.where})`;
    throw new CadastreError(
      'BAD_KUBECONFIG',
      `${lacks}; it has ${plural(contexts.size, 'context')}.`,
      {
        remedy: `Choose one with --context; KUBECONFIG=${files} kubectl config get-contexts lists them.`,
      },
    );
  }
  const cluster = referred(context, 'cluster', config.clusters);
  if (cluster === undefined) throw refuseEntry(context, 'names no cluster');
  const user = referred(context, 'user', config.users);
  const server = serverOf(cluster);
  const tls = {
    ca: authorityOf(cluster),
    insecureSkipVerify: cluster.value['insecure-skip-tls-verify'] === true,
    serverName: textField(cluster, 'tls-server-name'),
  };
  return {
    server,
    tls,
    credentials:
      user === undefined
        ? new ComposedCredentials({})
        : credentialsOf(user, { server, tls }, env, clock),
    headers: user === undefined ? undefined : impersonationOf(user),
    namespace: textField(context, 'namespace') ?? 'default',
    origin: describeEntry(context),
  };
}

function referred(
  context: KubeconfigEntry,
  field: 'cluster' | 'user',
  entries: ReadonlyMap<string, KubeconfigEntry>,
): KubeconfigEntry | undefined {
  const name = textField(context, field);
  if (name === undefined) return undefined;
  const entry = entries.get(name);
  if (entry === undefined) {
    throw refuseField(
      context,
      field,
      `names none of the ${field}s of the kubeconfig, which has ${entries.size}`,
      `Compare with kubectl config view --minify.`,
    );
  }
  return entry;
}

function serverOf(cluster: KubeconfigEntry): string {
  const server = textField(cluster, 'server');
  if (server === undefined) throw refuseEntry(cluster, 'has no server');
  const proxy = textField(cluster, 'proxy-url');
  if (proxy !== undefined) {
    throw refuseField(
      cluster,
      'proxy-url',
      'cannot be used: proxies are not supported',
      'Remove proxy-url and reach the API server directly, through a port-forward or a tunnel.',
    );
  }
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw refuseField(
      cluster,
      'server',
      'is not an http(s) URL',
      'Write it like https://10.0.0.1:6443.',
    );
  }
  return server.replace(/\/+$/, '');
}

function authorityOf(cluster: KubeconfigEntry): string | undefined {
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
    readPart(cluster, 'certificate-authority', () => readTextFile(path)),
  );
}
