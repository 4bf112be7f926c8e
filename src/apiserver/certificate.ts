/**
 * A certificate authority in one page: Node signs but does not issue, and a
 * laptop may have no openssl program. X.509 v3 (RFC 5280) with
 * ECDSA P-256, just enough of DER to write a certificate, nothing to read one.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface Certificate {
  certPem: string;
  keyPem: string;
}

interface Authority extends Certificate {
  name: string;
  key: KeyObject;
}

interface Request {
  commonName: string;
  /** Kubernetes reads these as the user's groups. */
  organizations?: string[];
  use: 'server' | 'client';
  /** DNS names and IPv4 addresses. */
  hosts?: string[];
}

export function createAuthority(name: string): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = distinguishedName(name, []);
  const extensions = [
    extension('2.5.29.19', sequence(der(0x01, [0xff]))), // basicConstraints: CA
    extension('2.5.29.15', der(0x03, [1, 0x06])), // keyUsage: keyCertSign, cRLSign
    extension('2.5.29.14', der(0x04, keyId(keys.publicKey))),
  ];
  const certPem = issue(subject, keys.publicKey, subject, keys.privateKey, extensions);
  return { name, key: keys.privateKey, certPem, keyPem: privatePem(keys.privateKey) };
}

export function issueCertificate(authority: Authority, request: Request): Certificate {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const purpose = request.use === 'server' ? '1.3.6.1.5.5.7.3.1' : '1.3.6.1.5.5.7.3.2';
  const extensions = [
    extension('2.5.29.15', der(0x03, [7, 0x80])), // keyUsage: digitalSignature
    extension('2.5.29.37', sequence(objectId(purpose))),
  ];
  if (request.hosts) extensions.push(extension('2.5.29.17', sequence(...request.hosts.map(host))));
  const certPem = issue(
    distinguishedName(request.commonName, request.organizations ?? []),
    keys.publicKey,
    distinguishedName(authority.name, []),
    authority.key,
    extensions,
  );
  return { certPem, keyPem: privatePem(keys.privateKey) };
}

function issue(
  subject: Buffer,
  subjectKey: KeyObject,
  issuer: Buffer,
  issuerKey: KeyObject,
  extensions: Buffer[],
): string {
  const algorithm = sequence(objectId('1.2.840.10045.4.3.2')); // ecdsa-with-SHA256
  const now = Date.now();
  const dayMs = 86_400_000;
  const body = sequence(
    der(0xa0, integer([2])), // v3
    integer([0x01, ...randomBytes(15)]),
    algorithm,
    issuer,
    sequence(time(now - dayMs), time(now + 3650 * dayMs)),
    subject,
    subjectKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', body, issuerKey);
  return pem('CERTIFICATE', sequence(body, algorithm, der(0x03, [0, ...signature])));
}

function der(tag: number, content: Iterable<number>): Buffer {
  const bytes = Buffer.from([...content]);
  const { length } = bytes;
  // The shortest form that fits, and no other (X.690 §10.1): Go refuses the certificate otherwise.
  const head =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), bytes]);
}

function sequence(...items: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(items));
}

function integer(bytes: number[]): Buffer {
  return der(0x02, bytes);
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const septets = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) septets.unshift((left & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return der(0x06, bytes);
}

function distinguishedName(commonName: string, organizations: string[]): Buffer {
  const attribute = (id: string, value: string) =>
    der(0x31, sequence(objectId(id), der(0x0c, Buffer.from(value))));
  return sequence(
    ...organizations.map((organization) => attribute('2.5.4.10', organization)),
    attribute('2.5.4.3', commonName),
  );
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(objectId(id), der(0x04, value));
}

function host(name: string): Buffer {
  return isIPv4(name) ? der(0x87, name.split('.').map(Number)) : der(0x82, Buffer.from(name));
}

function time(ms: number): Buffer {
  // UTCTime, YYMMDDHHMMSSZ: right until 2049 (RFC 5280 §4.1.2.5.1).
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

function keyId(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest();
}

function privatePem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
