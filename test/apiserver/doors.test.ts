/** What reaches the embedded API server below HTTP's words: bytes, headers, paths, and time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/apiserver/apiserver.ts';
import { configMap, configMaps, crds, widget, widgetCrd, widgets } from './contract/objects.ts';
import { callOn } from './server.ts';

const dir = mkdtempSync(join(tmpdir(), 'cadastre-doors-'));
let api: ApiServer;

beforeAll(async () => {
  api = await startApiServer({ dataDir: dir, waitsForDisk: false });
  await callOn(api, 'POST', crds, widgetCrd);
});

afterAll(async () => {
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** What the server says to such bytes until it closes, or the first line of it. */
function say(bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: api.port, ca: api.ca }, () => {
      socket.write(bytes);
    });
    let heard = '';
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => {
      heard += piece;
      if (heard.includes('\r\n')) {
        resolve(heard.split('\r\n')[0] as string);
        socket.destroy();
      }
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(heard));
  });
}

const ask = (target: string, more = '') =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\n${more}\r\n`;

test.each([
  ['garbage', 'not HTTP at all\r\n\r\n'],
  ['zero bytes', Buffer.alloc(1000)],
  ['TLS inside TLS', Buffer.from('160301020001000001fc0303', 'hex')],
  ['a header without end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(200_000)}`],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx'],
  [
    'a length and chunks',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['a negative length', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
  ['no host', 'GET / HTTP/1.1\r\n\r\n'],
  ['a method that is none', 'HACK / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a version that is none', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
])('%s is refused, and others are served', async (_, bytes) => {
  expect(await say(bytes)).toMatch(/^(HTTP\/1\.1 4\d\d .*)?$/);
  expect((await callOn(api, 'GET', configMaps)).status).toBe(200);
});

test('a path leads to its resource, and nowhere else', async () => {
  expect(await say(ask(`https://elsewhere.example${configMaps}`))).toContain(' 200 ');
  for (const target of [
    '/api/v1/../../../etc/passwd',
    '/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets',
    '/api/v1/namespaces/default%2fconfigmaps',
    '/api/v1/namespaces/%2e%2e/configmaps/x',
    '/api/v1/__proto__',
    '/apis/constructor/v1/toString',
    '/openapi/v3/__proto__',
    '//api/v1/nodes',
  ]) {
    expect(await say(ask(target)), target).toContain(' 404 ');
  }
  expect(await say(ask('/api/v1/nodes/%zz'))).toContain(' 400 ');
  const override = 'X-HTTP-Method-Override: DELETE\r\n';
  await callOn(api, 'POST', configMaps, configMap('kept'));
  expect(await say(ask(`${configMaps}/kept`, override))).toContain(' 200 ');
  expect((await callOn(api, 'GET', `${configMaps}/kept`)).status).toBe(200);
});

test('nobody without the token learns or changes anything', async () => {
  for (const token of ['', 'x', `${api.token}x`, api.token.slice(1), api.token.toUpperCase()]) {
    expect((await callOn(api, 'GET', configMaps, undefined, { token })).status, token).toBe(401);
    expect((await callOn(api, 'POST', configMaps, '{', { token })).status, token).toBe(401);
  }
  const huge = await callOn(api, 'POST', configMaps, 'x'.repeat(4_000_000), { token: 'x' });
  expect(huge.status).toBe(401);
});

test('hundreds of thousands of unknown fields are dropped, and the answer stays readable', async () => {
  const keys = Array.from({ length: 200_000 }, (_, at) => `"k${at}":1`).join(',');
  const text = `{"apiVersion":"ex.dev/v1","kind":"Widget","metadata":{"name":"wide"},"spec":{"size":1},${keys}}`;
  const { status, headers } = await callOn(api, 'POST', widgets, text);
  expect(status).toBe(201);
  expect(String(headers.warning).length).toBeLessThan(8_192);
  const strict = await callOn(api, 'POST', `${widgets}?fieldValidation=Strict`, text);
  expect(strict.status).toBe(400);
});

test('owners of fields that a client makes up own nothing, and change no prototype', async () => {
  const path = `${configMaps}/owned`;
  await callOn(api, 'POST', configMaps, configMap('owned', { a: '1' }));
  const steps = '"__proto__":{"f:polluted":{}},"f:__proto__":{"f:toString":{}},"v:{":{},"k:1":{}';
  const operation = (name: string) =>
    `{"manager":"m","operation":"${name}","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{${steps}}}`;
  for (const name of ['Update', 'Apply']) {
    const made = `{"metadata":{"managedFields":[${operation(name)}]},"data":{"b":"${name}"}}`;
    expect((await callOn(api, 'PATCH', path, made)).status).toBe(200);
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owned' } };
    const apply = { type: 'application/apply-patch+yaml' };
    const force = `${path}?fieldManager=m&force=true`;
    expect((await callOn(api, 'PATCH', force, applied, apply)).status).toBe(200);
  }
  expect(({} as Record<string, unknown>)['f:polluted']).toBeUndefined();
  expect(typeof {}.toString).toBe('function');
});

test.each([
  '{"$deleteFromPrimitiveList/finalizers":"x","metadata":{"$deleteFromPrimitiveList/finalizers":5}}',
  '{"$deleteFromPrimitiveList/__proto__":["x"]}',
  '{"$setElementOrder/data":"x"}',
  '{"$setElementOrder/__proto__":["x"]}',
  '{"$retainKeys":"x","$patch":5}',
  '{"metadata":{"ownerReferences":[null,5,"x"]}}',
  '{"metadata":{"ownerReferences":[{"uid":null}]}}',
  '{"metadata":{"__proto__":{"polluted":"x"},"labels":{"__proto__":{"polluted":"x"}}}}',
])('a strategic patch cannot break the server: %s', async (patch) => {
  await callOn(api, 'POST', configMaps, configMap('strategic', { a: '1' }));
  const strategic = { type: 'application/strategic-merge-patch+json' };
  const { status } = await callOn(api, 'PATCH', `${configMaps}/strategic`, patch, strategic);
  expect(status).toBeLessThan(500);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('a rule that does not end is stopped, and says so', async () => {
  const spec = {
    type: 'array',
    items: { type: 'string' },
    'x-kubernetes-validations': [
      { rule: 'self.all(a, self.all(b, self.all(c, (a + b + c).size() >= 0)))', message: 'slow' },
    ],
  };
  const crd = {
    ...widgetCrd,
    metadata: { name: 'loops.ex.dev' },
    spec: {
      ...widgetCrd.spec,
      scope: 'Cluster',
      names: { kind: 'Loop', plural: 'loops' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  };
  expect((await callOn(api, 'POST', crds, crd)).status).toBe(201);
  const loop = (count: number) => ({
    ...widget('x', {}),
    kind: 'Loop',
    spec: Array(count).fill('x'),
  });
  const path = '/apis/ex.dev/v1/loops';
  const { status, body } = await callOn(api, 'POST', path, loop(3_000));
  expect(status).toBe(422);
  expect(body.message).toContain('call cost exceeds limit for rule evaluating rule: slow');
  expect((await callOn(api, 'POST', path, loop(10))).status).toBe(201);
});
