import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from './apiserver.ts';
import { publishAddress } from './bootstrap.ts';

const dir = mkdtempSync(join(tmpdir(), 'embedded-bootstrap-'));
let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({ dataDir: dir });
});

afterAll(async () => {
  await server?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const found = (collection: string) =>
  server.api.store.collection(collection).get('default/kubernetes')?.object;
const slice = () => found('endpointslices.discovery.k8s.io');

test('the Service kubernetes leads to the server, unless only this machine reaches it', async () => {
  for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::']) {
    await publishAddress(server.api, host, 6443);
  }
  expect([slice(), found('endpoints')]).toEqual([undefined, undefined]);
  await publishAddress(server.api, '192.0.2.1', 6443);
  expect(slice()).toMatchObject({ endpoints: [{ addresses: ['192.0.2.1'] }] });
  expect(found('endpoints')).toMatchObject({ subsets: [{ addresses: [{ ip: '192.0.2.1' }] }] });
});

test('after a restart the endpoints are the same objects; at another address there are new ones', async () => {
  const [first, endpoints] = [slice(), found('endpoints')];
  await publishAddress(server.api, '192.0.2.1', 6443);
  expect([slice(), found('endpoints')]).toEqual([first, endpoints]);
  await publishAddress(server.api, '2001:db8::1', 6444);
  expect(slice()).toMatchObject({
    addressType: 'IPv6',
    endpoints: [{ addresses: ['2001:db8::1'] }],
    ports: [{ port: 6444 }],
  });
});
