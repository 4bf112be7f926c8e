import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { addHealthRoutes } from './health-routes.ts';
import { HttpRefusal, HttpServer } from './http-server.ts';
import type { Log } from './log.ts';
import { Metrics } from './metrics.ts';

const open: HttpServer[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function listening(server: HttpServer): Promise<string> {
  open.push(server);
  await server.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${server.port}`;
}

test('routes by method and path, and decodes parameters', async () => {
  const server = new HttpServer()
    .on('GET', '/blocks/:cidr/owner', (got) => ({ body: { cidr: got.params.cidr } }))
    .on('POST', '/blocks', async (got) => ({ status: 201, body: await got.json() }));
  const url = await listening(server);
  const found = await fetch(`${url}/blocks/10.0.0.0%2F24/owner?wide`);
  expect(found.headers.get('content-type')).toBe('application/json');
  expect(await found.json()).toEqual({ cidr: '10.0.0.0/24' });
  const made = await fetch(`${url}/blocks`, { method: 'POST', body: '{"a":1}' });
  expect([made.status, await made.json()]).toEqual([201, { a: 1 }]);
});

test('what it cannot serve is answered with a sentence', async () => {
  const words: object[] = [];
  const log = { error: (fields: object) => words.push(fields) } as unknown as Log;
  const server = new HttpServer({ log, maxBodyBytes: 10 })
    .on('POST', '/in', async (got) => ({ body: await got.json() }))
    .on('GET', '/refused', () => {
      throw new HttpRefusal(409, 'taken by node1');
    })
    .on('GET', '/broken', () => {
      throw new Error('no luck', { cause: new Error('at all') });
    });
  const url = await listening(server);
  const ask = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`${url}${path}`, init);
    return [answer.status, ((await answer.json()) as { error: string }).error];
  };
  expect(await ask('/nowhere')).toEqual([404, 'no such path: /nowhere']);
  expect(await ask('/in')).toEqual([405, '/in takes POST, not GET']);
  expect(await ask('/refused')).toEqual([409, 'taken by node1']);
  expect(await ask('/broken')).toEqual([500, 'no luck: at all']);
  expect(words).toEqual([{ verb: 'GET', path: '/broken', error: 'no luck: at all' }]);
  const [status, why] = await ask('/in', { method: 'POST', body: '{' });
  expect([status, String(why).slice(0, 20)]).toEqual([400, 'the body is not JSON']);
  expect(await ask('/in', { method: 'POST', body: '"far too long"' })).toEqual([
    413,
    'the body is larger than 10 bytes',
  ]);
});

test('serves a Unix socket too', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'http-server-'));
  const socketPath = join(dir, 'agent.sock');
  const server = new HttpServer().on('GET', '/', () => ({ body: 'here' }));
  open.push(server);
  await server.listen({ socketPath });
  const body = await new Promise((resolve, reject) => {
    request({ socketPath, path: '/' }, (incoming) => incoming.on('data', (d) => resolve(`${d}`)))
      .on('error', reject)
      .end();
  });
  expect(body).toBe('here');
  await server.close();
  rmSync(dir, { recursive: true });
});

test('a taken port is refused with the address', async () => {
  const first = new HttpServer();
  await listening(first);
  const second = new HttpServer().listen({ host: '127.0.0.1', port: first.port });
  await expect(second).rejects.toThrow(`cannot listen on 127.0.0.1:${first.port}`);
});

test('close lets the answer under way finish, and does not wait for idle connections', async () => {
  let enter = () => {};
  let go = () => {};
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const released = new Promise<void>((resolve) => {
    go = resolve;
  });
  const server = new HttpServer().on('GET', '/slow', async () => {
    enter();
    await released;
    return { body: 'done' };
  });
  const url = await listening(server);
  await fetch(`${url}/idle`).then((answer) => answer.text()); // leaves a kept-alive connection
  const slow = fetch(`${url}/slow`);
  await entered;
  const closed = server.close();
  go();
  expect(await (await slow).text()).toBe('done');
  await closed;
  await expect(fetch(`${url}/idle`)).rejects.toThrow();
});

test('readyz names what is missing; livez and metrics do not depend on it', async () => {
  let nodes = { isOk: false, says: 'no list of Nodes yet' };
  const metrics = new Metrics();
  metrics.counter('seen_total', 'Seen.').inc();
  const url = await listening(
    addHealthRoutes(new HttpServer(), {
      metrics,
      ready: new Map([
        ['leadership', () => ({ isOk: true, says: 'operator-2 leads' })],
        ['nodes', () => nodes],
      ]),
    }),
  );
  const ask = async (path: string) => {
    const answer = await fetch(`${url}${path}`);
    return [answer.status, await answer.text()];
  };
  expect(await ask('/readyz')).toEqual([
    503,
    '[+]leadership ok: operator-2 leads\n[-]nodes failed: no list of Nodes yet\nreadyz check failed\n',
  ]);
  expect(await ask('/livez')).toEqual([200, 'ok']);
  nodes = { isOk: true, says: '4 Nodes' };
  expect(await ask('/readyz')).toEqual([
    200,
    '[+]leadership ok: operator-2 leads\n[+]nodes ok: 4 Nodes\nreadyz check passed\n',
  ]);
  const scraped = await fetch(`${url}/metrics`);
  expect(scraped.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await scraped.text()).toContain('seen_total 1\n');
});
