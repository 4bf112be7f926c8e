/**
 * The data folder's other contents: the token and the certificates that stay the
 * same over restarts, the kubeconfig.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority, issueCertificate } from './certificate.ts';

interface ServerIdentity {
  token: string;
  ca: string;
  cert: string;
  key: string;
}

/** Made on the first start. */
export function identityIn(dir: string, host: string): ServerIdentity {
  const path = join(dir, 'identity.json');
  if (existsSync(path)) {
    const known = JSON.parse(readFileSync(path, 'utf8')) as ServerIdentity & { host: string };
    if (known.host === host) return known;
  }
  const authority = createAuthority('embedded-apiserver-ca');
  const server = issueCertificate(authority, {
    commonName: 'embedded-apiserver',
    use: 'server',
    hosts: [...new Set(['127.0.0.1', 'localhost', host, 'kubernetes.default.svc'])],
  });
  const identity: ServerIdentity = {
    token: randomBytes(24).toString('hex'),
    ca: authority.certPem,
    cert: server.certPem,
    key: server.keyPem,
  };
  writeWhole(path, JSON.stringify({ host, ...identity }));
  return identity;
}

export function writeKubeconfig(path: string, url: string, { ca, token }: ServerIdentity): void {
  // JSON is YAML: nothing to quote, nothing to get wrong.
  writeWhole(
    path,
    `${JSON.stringify(
      {
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'embedded',
        clusters: [
          {
            name: 'embedded',
            cluster: {
              server: url,
              'certificate-authority-data': Buffer.from(ca).toString('base64'),
            },
          },
        ],
        contexts: [{ name: 'embedded', context: { cluster: 'embedded', user: 'admin' } }],
        users: [{ name: 'admin', user: { token } }],
      },
      null,
      2,
    )}\n`,
  );
}

/** The whole file or the one before, and for our eyes only. */
function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text, { mode: 0o600 });
  chmodSync(`${path}.tmp`, 0o600);
  renameSync(`${path}.tmp`, path);
}
