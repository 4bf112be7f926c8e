import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';

export interface KubeconfigUser {
  token?: string;
  tokenFile?: string;
  certFile?: string;
  keyFile?: string;
  /** base64, as kubeconfig has it. */
  certData?: string;
  keyData?: string;
}

export interface Kubeconfig {
  server: string;
  caFile: string;
  /** Each user is also a context of the same name; the first is current. */
  users: Record<string, KubeconfigUser>;
}

export function writeKubeconfig(path: string, config: Kubeconfig): void {
  const names = Object.keys(config.users);
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': names[0],
    clusters: [
      {
        name: 'test',
        cluster: { server: config.server, 'certificate-authority': config.caFile },
      },
    ],
    contexts: names.map((name) => ({ name, context: { cluster: 'test', user: name } })),
    users: Object.entries(config.users).map(([name, user]) => ({
      name,
      user: {
        token: user.token,
        tokenFile: user.tokenFile,
        'client-certificate': user.certFile,
        'client-key': user.keyFile,
        'client-certificate-data': user.certData,
        'client-key-data': user.keyData,
      },
    })),
  });
  writeFileSync(path, text, { mode: 0o600 });
}
