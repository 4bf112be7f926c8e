/**
 * The data folder's other contents: the token and the certificates that stay the
 * same over restarts, the kubeconfig.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { CadastreError, describeError } from '../base/errors.ts';
import { createAuthority, issueCertificate } from './certificate.ts';

interface ServerIdentity {
  token: string;
  ca: string;
  cert: string;
  key: string;
}

/** Made on the first start. `serviceAddress`: where pods find it, by the Service `kubernetes`. */
export function identityIn(
  dir: string,
  host: string,
  serviceAddress: string | undefined,
): ServerIdentity {
  const path = join(dir, 'identity.json');
  if (existsSync(path)) {
    const known = readIdentity(path);
    if (known.host === host) return known;
  }
  const address = serviceAddress === undefined ? [] : [serviceAddress];
  const authority = createAuthority('embedded-apiserver-ca');
  const server = issueCertificate(authority, {
    commonName: 'embedded-apiserver',
    use: 'server',
    hosts: [...new Set(['127.0.0.1', 'localhost', host, 'kubernetes.default.svc', ...address])],
  });
  const identity: ServerIdentity = {
    token: randomBytes(24).toString('hex'),
    ca: authority.certPem,
    cert: server.certPem,
    key: server.keyPem,
  };
  const kept = { host, ...identity };
  writeWhole(path, JSON.stringify({ ...kept, checksum: checksumOf(kept) }));
  return identity;
}

type KeptIdentity = ServerIdentity & { host: string };

/** As it was written, or an error: with another token or certificate every client would be refused. */
function readIdentity(path: string): KeptIdentity {
  const text = readFileSync(path, 'utf8');
  if (text.trim() === '') throw damaged(path, 'is empty');
  let read: Partial<KeptIdentity & { checksum: string }>;
  try {
    read = JSON.parse(text);
  } catch (cause) {
    throw damaged(path, `is not JSON: ${describeError(cause)}`, cause);
  }
  const { host, token, ca, cert, key, checksum } = read ?? {};
  const fields = { host, token, ca, cert, key };
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'string' || value === '') throw damaged(path, `has no ${name}`);
  }
  const known = fields as KeptIdentity;
  // Version 0.1.0 wrote none.
  if (checksum !== undefined && checksum !== checksumOf(known)) {
    throw damaged(path, `does not have the checksum that it names, ${JSON.stringify(checksum)}`);
  }
  return known;
}

function damaged(path: string, how: string, cause?: unknown): CadastreError {
  return new CadastreError('STATE_DAMAGED', `${path} ${how}`, {
    cause,
    remedy:
      'restore it from a copy; or remove it: a new token and certificates are made, the objects stay, and clients need the new kubeconfig',
  });
}

const checksumOf = ({ host, token, ca, cert, key }: KeptIdentity) =>
  crc32([host, token, ca, cert, key].join('\n')).toString(16).padStart(8, '0');

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
  writeFileSync(`${path}.tmp`, text, { mode: 0o600, flush: true });
  chmodSync(`${path}.tmp`, 0o600);
  renameSync(`${path}.tmp`, path);
}
