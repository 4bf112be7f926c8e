import { dirname, resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { CredentialSource, KubeAccess } from './access.ts';
import { ComposedCredentials, type MaybeFile } from './credentials.ts';
import { ExecCredentials, type ExecPlugin } from './exec-credentials.ts';
import { FileValue } from './file-value.ts';
import {
  checkPem,
  dataField,
  describeEntry,
  type KubeconfigEntry,
  pathField,
  readPart,
  refuseEntry,
  refuseField,
  textField,
} from './kubeconfig-file.ts';

type Cluster = Pick<KubeAccess, 'server' | 'tls'>;

/** What a kubeconfig's user has to show: certificate, token, password or a plugin. */
export function credentialsOf(
  user: KubeconfigEntry,
  cluster: Cluster,
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

function execPluginOf(user: KubeconfigEntry, cluster: Cluster, env: NodeJS.ProcessEnv): ExecPlugin {
  const exec = user.value.exec as Record<string, unknown>;
  const { command, args, apiVersion } = exec;
  if (typeof command !== 'string' || command === '') {
    throw refuseField(user, 'exec', 'has no command');
  }
  if (
    apiVersion !== 'client.authentication.k8s.io/v1' &&
    apiVersion !== 'client.authentication.k8s.io/v1beta1'
  ) {
    throw refuseField(
      user,
      'exec',
      'has an apiVersion that is not known',
      'client.authentication.k8s.io/v1 and v1beta1 are understood.',
    );
  }
  if (exec.interactiveMode === 'Always') {
    throw refuseField(user, 'exec', 'has interactiveMode Always, and nobody is there to answer it');
  }
  const extra = Array.isArray(exec.env) ? exec.env : [];
  return {
    command: /[/\\]/.test(command) ? resolve(dirname(user.file), command) : command,
    args: Array.isArray(args) ? args.map(String) : [],
    env: { ...env, ...Object.fromEntries(extra.map((item) => [item?.name, String(item?.value)])) },
    apiVersion,
    cluster: exec.provideClusterInfo === true ? clusterInfoOf(cluster) : undefined,
    owner: `${describeEntry(user)} (line ${user.lineOf('exec')})`,
  };
}

/** `spec.cluster` of the ExecCredential. */
function clusterInfoOf({ server, tls }: Cluster): object {
  return {
    server,
    'tls-server-name': tls.serverName,
    'insecure-skip-tls-verify': tls.insecureSkipVerify || undefined,
    'certificate-authority-data':
      tls.ca === undefined ? undefined : Buffer.from(tls.ca).toString('base64'),
  };
}

export function impersonationOf(user: KubeconfigEntry): Record<string, string> | undefined {
  const as = textField(user, 'as');
  const unsupported = ['as-uid', 'as-groups', 'as-user-extra'].find(
    (field) => user.value[field] !== undefined,
  );
  if (unsupported !== undefined) {
    throw refuseEntry(user, `has ${unsupported}, and only plain "as" is supported`);
  }
  return as === undefined ? undefined : { 'impersonate-user': as };
}
