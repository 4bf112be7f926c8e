import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAuthority, issueCertificate } from '../../test/parts/certificate.ts';
import { type Credential, fixedCredential, type KubeAccess } from './access.ts';
import { KubeClient } from './client.ts';

type Pair = { certPem: string; keyPem: string };
let authority: ReturnType<typeof createAuthority>;
let pairs: Record<'server' | 'first' | 'second', Pair>;
beforeAll(() => {
  authority = createAuthority('test');
  const client = (commonName: string) => issueCertificate(authority, { commonName, use: 'client' });
  pairs = {
    server: issueCertificate(authority, {
      commonName: 'server',
      use: 'server',
      hosts: ['kubernetes.default.svc', '127.0.0.1'],
    }),
    first: client('first'),
    second: client('second'),
  };
});

let server: Server;
let connections: Set<Duplex>;
beforeEach(async () => {
  connections = new Set();
  server = createServer(
    {
      cert: pairs.server.certPem,
      key: pairs.server.keyPem,
      ca: authority.certPem,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const socket = request.socket as TLSSocket;
      const { CN: user } = socket.getPeerCertificate().subject ?? {};
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ user, serverName: socket.servername }));
    },
  );
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const access = (more: Partial<KubeAccess>): KubeAccess => ({
  server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
  tls: { ca: authority.certPem },
  credentials: fixedCredential(),
  namespace: 'default',
  origin: 'a test',
  ...more,
});

const identity = ({ certPem, keyPem }: Pair): Credential => ({ cert: certPem, key: keyPem });

test('a client certificate is shown, and a rotated one on new connections', async () => {
  let credential = identity(pairs.first);
  const client = new KubeClient(
    access({ credentials: { current: () => credential, renew: async () => false } }),
  );
  expect(await client.rawGet('/')).toMatchObject({ user: 'first' });
  expect(await client.rawGet('/')).toMatchObject({ user: 'first' });
  credential = identity(pairs.second);
  expect(await client.rawGet('/')).toMatchObject({ user: 'second' });
  await client.close();
});

test('a new token needs no new connection', async () => {
  let credential: Credential = { authorization: 'Bearer one' };
  const client = new KubeClient(
    access({ credentials: { current: () => credential, renew: async () => false } }),
  );
  for (let i = 0; i < 5; i += 1) await client.rawGet('/');
  const before = connections.size;
  credential = { authorization: 'Bearer two' };
  for (let i = 0; i < 5; i += 1) await client.rawGet('/');
  expect(connections.size).toBe(before);
  await client.close();
});

test('an identity that is still being fetched holds the request up, not others', async () => {
  let give: ((credential: Credential) => void) | undefined;
  const credentials = {
    current: () =>
      new Promise<Credential>((resolve) => {
        give = resolve;
      }),
    renew: async () => false,
  };
  const client = new KubeClient(access({ credentials }));
  const asked = client.rawGet('/');
  give?.(identity(pairs.second));
  expect(await asked).toMatchObject({ user: 'second' });
  await client.close();
});

test('tls-server-name is what is asked for and what is checked', async () => {
  const named = new KubeClient(
    access({ tls: { ca: authority.certPem, serverName: 'kubernetes.default.svc' } }),
  );
  expect(await named.rawGet('/')).toMatchObject({ serverName: 'kubernetes.default.svc' });
  await named.close();
  const other = new KubeClient(access({ tls: { ca: authority.certPem, serverName: 'other' } }));
  await expect(other.rawGet('/')).rejects.toMatchObject({
    code: 'API_UNREACHABLE',
    remedy: expect.stringContaining('certificate-authority'),
  });
  await other.close();
});

test('an unknown authority is refused, unless told not to look', async () => {
  const strict = new KubeClient(access({ tls: {} }));
  await expect(strict.rawGet('/')).rejects.toMatchObject({
    remedy: expect.stringContaining('certificate-authority'),
  });
  await strict.close();
  const blind = new KubeClient(access({ tls: { insecureSkipVerify: true } }));
  expect(await blind.rawGet('/')).toHaveProperty('serverName');
  await blind.close();
});
