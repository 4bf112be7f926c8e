import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CrashingFiles } from '../../test/parts/crashing-files.ts';
import { HttpServer } from '../base/http-server.ts';
import { agentErrorSchema, agentOperations } from '../model/agent-api.ts';
import { parsePrefix } from '../net/prefix.ts';
import { addAddressRoutes, generalRefusal } from './address-api.ts';
import { AddressBook } from './address-book.ts';
import { claimSocket } from './private-socket.ts';

let nowMs = 0;
const clock = { wallMs: () => 0, monotonicMs: () => nowMs };
let folder: string;
let files: CrashingFiles;
let server: HttpServer;
let book: AddressBook;
let registered: string[];

beforeEach(async () => {
  nowMs = 0;
  folder = mkdtempSync(join(tmpdir(), 'address-api-'));
  files = new CrashingFiles();
  book = await AddressBook.open({ files, folder: '/state', clock, restMs: 30_000 });
  setBlocks('10.5.113.0/24', 'fd00::/120');
  server = new HttpServer({ refusalBody: generalRefusal });
  registered = [];
  const recording = Object.assign(Object.create(server), {
    on(method: string, path: string, handler: Parameters<HttpServer['on']>[2]) {
      registered.push(`${method} ${path}`);
      server.on(method, path, handler);
    },
  }) as HttpServer;
  const cni = () => {
    throw new Error('broken');
  };
  addAddressRoutes(recording, {
    ...{ book, clock, version: '1.2.3', cni },
    logLevel: { level: 'info' },
  });
  await (await claimSocket(join(folder, 'agent.sock'))).listen(server);
});

afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

function setBlocks(...blocks: string[]): void {
  book.setBlocks(blocks.map((text) => ({ prefix: parsePrefix(text)!, isDraining: false })));
}

// biome-ignore lint/suspicious/noExplicitAny: the answers are compared, not used
type Answer = { status: number; body: any };

function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { socketPath: join(folder, 'agent.sock'), method, path },
      (incoming) => {
        let text = '';
        incoming.on('data', (piece) => {
          text += piece;
        });
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, body: JSON.parse(text) }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

const told = ({ status, body }: Answer) => [status, body.code ?? body.addresses];

test('only root can open the socket', () => {
  expect(statSync(join(folder, 'agent.sock')).mode & 0o777).toBe(0o600);
});

describe('allocate, claim, release', () => {
  test('the life of an allocation', async () => {
    const given = await ask('POST', '/v1/addresses', { owner: 'default/web', expirySeconds: 10 });
    expect(given).toEqual({
      status: 201,
      body: {
        owner: 'default/web',
        generation: 1,
        addresses: [
          { family: 'ipv4', address: '10.5.113.2', block: '10.5.113.0/24' },
          { family: 'ipv6', address: 'fd00::2', block: 'fd00::/120' },
        ],
        expiresInSeconds: 10,
      },
    });
    expect((await ask('POST', '/v1/addresses', { owner: 'default/web' })).status).toBe(200);
    const claimed = await ask('POST', '/v1/addresses/fd00::2/claim', { owner: 'default/web' });
    expect(claimed.body).not.toHaveProperty('expiresInSeconds');
    expect((await ask('GET', '/v1/addresses')).body.items).toEqual([claimed.body]);
    expect((await ask('GET', '/v1/status')).body.lines).toEqual([
      'IPv4: 2/254 allocated from 10.5.113.0/24',
      'IPv6: 2/254 allocated from fd00::/120',
    ]);
    const gone = await ask('DELETE', '/v1/addresses/10.5.113.2?owner=default%2Fweb');
    expect(gone.status).toBe(200);
    expect((await ask('GET', '/v1/addresses')).body.items).toEqual([]);
  });

  test('one that nobody claims is free again, and a late claim is told', async () => {
    await ask('POST', '/v1/addresses', { owner: 'a', expirySeconds: 10 });
    nowMs += 10_000;
    const late = await ask('POST', '/v1/addresses/10.5.113.2/claim', { owner: 'a' });
    expect(told(late)).toEqual([404, 'NotAllocated']);
  });

  test('fences', async () => {
    await ask('POST', '/v1/addresses', { owner: 'a' });
    const at = '/v1/addresses/10.5.113.2';
    expect(told(await ask('DELETE', `${at}?owner=b`))).toEqual([409, 'NotOwner']);
    expect(told(await ask('POST', `${at}/claim`, { owner: 'b' }))).toEqual([409, 'NotOwner']);
    expect(told(await ask('DELETE', `${at}?owner=a&generation=7`))).toEqual([
      409,
      'StaleGeneration',
    ]);
    expect(told(await ask('DELETE', at))).toEqual([400, 'BadRequest']);
    expect(told(await ask('DELETE', `${at}?owner=a&generation=1`))[0]).toBe(200);
    expect(told(await ask('DELETE', `${at}?owner=a`))).toEqual([404, 'NotAllocated']);
  });

  test.each<[unknown, number, string]>([
    ['{', 400, 'BadRequest'],
    [{}, 400, 'BadRequest'],
    [{ owner: '' }, 400, 'BadRequest'],
    [{ owner: 'x', famlies: ['ipv4'] }, 400, 'BadRequest'],
    [{ owner: 'x', families: ['ipv4', 'ipv4'] }, 400, 'BadRequest'],
    [{ owner: 'x', requested: ['10.5.113'] }, 400, 'BadRequest'],
    [{ owner: 'x', requested: ['10.5.113.7', '10.5.113.8'] }, 400, 'BadRequest'],
    [{ owner: 'x', families: ['ipv6'], requested: ['10.5.113.7'] }, 400, 'BadRequest'],
    [{ owner: 'x', requested: ['10.5.113.2'] }, 409, 'AddressTaken'],
    [{ owner: 'x', requested: ['10.5.113.3'] }, 409, 'AddressResting'],
    [{ owner: 'x', requested: ['10.5.113.1'] }, 422, 'AddressNotForPods'],
    [{ owner: 'x', requested: ['10.9.9.9'] }, 422, 'AddressOutsideBlocks'],
    [{ owner: 'a', families: ['ipv4'] }, 409, 'OwnerHoldsOther'],
  ])('refuses %j with %s %s, and says what to do', async (body, status, code) => {
    await ask('POST', '/v1/addresses', { owner: 'a' });
    await ask('POST', '/v1/addresses', { owner: 'b' });
    await ask('DELETE', '/v1/addresses/10.5.113.3?owner=b');
    const answer = await ask('POST', '/v1/addresses', body);
    expect(told(answer)).toEqual([status, code]);
    expect(answer.body).toMatchObject({ error: expect.any(String), remedy: expect.any(String) });
  });

  test('a full block, a family that is not there, and no block at all', async () => {
    setBlocks('10.0.0.0/30');
    const both = { owner: 'a', families: ['ipv4', 'ipv6'] };
    expect(told(await ask('POST', '/v1/addresses', both))).toEqual([422, 'FamilyNotServed']);
    expect((await ask('POST', '/v1/addresses', { owner: 'a' })).status).toBe(201);
    expect(told(await ask('POST', '/v1/addresses', { owner: 'b' }))).toEqual([
      503,
      'NoFreeAddress',
    ]);
    await ask('DELETE', '/v1/addresses/10.0.0.2?owner=a');
    expect((await ask('POST', '/v1/addresses', { owner: 'b' })).body.retryAfterSeconds).toBe(30);
    setBlocks();
    expect((await ask('POST', '/v1/addresses', { owner: 'b' })).body.error).toBe(
      'this node has no block yet',
    );
  });

  test('a full disk is said as such', async () => {
    files.failing = () => true;
    const answer = await ask('POST', '/v1/addresses', { owner: 'a' });
    expect(told(answer)).toEqual([507, 'STATE_NOT_WRITTEN']);
    files.failing = undefined;
    expect((await ask('POST', '/v1/addresses', { owner: 'a' })).status).toBe(201);
  });
});

test.each<[string, string, string | undefined, number, string]>([
  ['GET', '/v1/nothing', undefined, 404, 'NoSuchPath'],
  ['PUT', '/v1/addresses', '{}', 405, 'NoSuchMethod'],
  ['POST', '/v1/addresses', `"${'x'.repeat(1 << 20)}"`, 413, 'BodyTooLarge'],
  ['DELETE', '/v1/addresses/%zz?owner=a', undefined, 400, 'BadRequest'],
  ['POST', '/cni', '', 500, 'Internal'],
])(
  '%s %s is refused like everything else, with a code and a remedy',
  async (method, path, body, status, code) => {
    const answer = await ask(method, path, body);
    expect(told(answer)).toEqual([status, code]);
    expect(agentErrorSchema.safeParse(answer.body).error).toBeUndefined();
  },
);

describe('the OpenAPI document', () => {
  type Node = Record<string, unknown>;

  function walk(value: unknown, visit: (node: Node) => void): void {
    if (typeof value !== 'object' || value === null) return;
    visit(value as Node);
    for (const child of Object.values(value)) walk(child, visit);
  }

  test('has every route that is served, and no other', async () => {
    const { body } = await ask('GET', '/v1/openapi.json');
    const documented = Object.entries<Node>(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      ),
    );
    expect(documented.sort()).toEqual(registered.sort());
    expect(registered).toHaveLength(Object.keys(agentOperations).length);
  });

  test('is valid OpenAPI 3.1', async () => {
    const { body } = await ask('GET', '/v1/openapi.json');
    expect(Object.keys(body)).toEqual(['openapi', 'info', 'paths', 'components']);
    expect(body.openapi).toMatch(/^3\.1\.\d+$/);
    expect(body.info).toMatchObject({ title: expect.any(String), version: '1.2.3' });
    const ids: string[] = [];
    for (const [path, item] of Object.entries<Record<string, Node>>(body.paths)) {
      expect(path).toMatch(/^\//);
      for (const [method, operation] of Object.entries(item)) {
        expect(['get', 'post', 'put', 'delete']).toContain(method);
        ids.push(operation.operationId as string);
        const parameters = (operation.parameters ?? []) as Node[];
        for (const { name, in: place, required, schema } of parameters) {
          expect(typeof name).toBe('string');
          expect(['path', 'query', 'header']).toContain(place);
          if (place === 'path') expect(required).toBe(true);
          expect(schema).toMatchObject({ type: expect.any(String) });
        }
        const inPath = parameters.filter((one) => one.in === 'path').map((one) => `{${one.name}}`);
        expect(path.match(/\{\w+\}/g) ?? []).toEqual(inPath);
        const responses = Object.entries(operation.responses as Record<string, Node>);
        expect(responses.length).toBeGreaterThan(0);
        for (const [status, response] of responses) {
          expect(status).toMatch(/^[1-5]\d\d$/);
          expect(typeof response.description).toBe('string');
        }
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
    const referred = new Set<string>();
    walk(body, (node) => {
      expect(Object.keys(node)).not.toContain('$defs');
      expect(Object.keys(node)).not.toContain('$schema');
      if (typeof node.$ref === 'string') referred.add(node.$ref);
    });
    const defined = Object.keys(body.components.schemas).map(
      (name) => `#/components/schemas/${name}`,
    );
    expect([...referred].sort()).toEqual(defined.sort());
  });

  test('describes what is really answered', async () => {
    const { allocationSchema, addressStatusSchema, allocationListSchema } = await import(
      '../model/agent-api.ts'
    );
    const given = await ask('POST', '/v1/addresses', { owner: 'a', expirySeconds: 1 });
    expect(allocationSchema.safeParse(given.body).error).toBeUndefined();
    const status = await ask('GET', '/v1/status');
    expect(addressStatusSchema.safeParse(status.body).error).toBeUndefined();
    const list = await ask('GET', '/v1/addresses');
    expect(allocationListSchema.safeParse(list.body).error).toBeUndefined();
    const refused = await ask('POST', '/v1/addresses', {});
    expect(agentErrorSchema.safeParse(refused.body).error).toBeUndefined();
  });
});
