import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendStatus } from '../../test/parts/fault-proxy.ts';
import { sendJson, TestApi, thing, things, thingsPath, until } from '../../test/parts/test-api.ts';
import { Metrics } from '../base/metrics.ts';
import type { Credential } from './access.ts';
import { ApiError } from './api-error.ts';
import { KubeClient } from './client.ts';
import type { StoredObject } from './resource.ts';
import type { WatchEvent } from './watch-lines.ts';

const bookmark = `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } })}\n`;

let api: TestApi;
let client: KubeClient;
beforeEach(async () => {
  api = await TestApi.start();
  client = new KubeClient(api.access(), { requestTimeoutMs: 2_000, random: () => 0 });
});
afterEach(async () => {
  await client.close();
  await api.stop();
});

async function failureOf(work: Promise<unknown>): Promise<ApiError> {
  const error = await work.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe('verbs', () => {
  test('each verb asks as the API wants it', async () => {
    api.put(`${thingsPath}/a`);
    await client.get(things, 'a');
    const { metadata } = await client.create<StoredObject>(things, thing('b'));
    await client.replace(things, 'a', thing('a'), { subresource: 'status' }).catch(() => {});
    await client.patch(things, 'a', { type: 'merge', body: { spec: 2 } });
    const body = thing('a');
    await client.patch(things, 'a', { type: 'apply', body, fieldManager: 'x', force: true });
    const uid = metadata.uid ?? '';
    await client.delete(things, 'b', { uid });
    const asked = api.asked.map(({ method, path, query, headers }) =>
      [method, path, query.toString(), headers['content-type'] ?? ''].join(' ').trim(),
    );
    expect(asked).toEqual([
      `GET ${thingsPath}/a`,
      `POST ${thingsPath} fieldManager=cadastre application/json`,
      `PUT ${thingsPath}/a/status fieldManager=cadastre application/json`,
      `PATCH ${thingsPath}/a fieldManager=cadastre application/merge-patch+json`,
      `PATCH ${thingsPath}/a fieldManager=x&force=true application/apply-patch+yaml`,
      `DELETE ${thingsPath}/b  application/json`,
    ]);
    expect(api.asked.at(-1)?.body?.preconditions).toEqual({ uid });
    expect(api.asked[0]?.headers['user-agent']).toBe('cadastre');
  });

  test('a delete that finalizers hold back is not gone yet', async () => {
    api.put(`${thingsPath}/a`);
    expect(await client.delete(things, 'a')).toEqual({ gone: true });
    api.put(`${thingsPath}/a`, { metadata: { finalizers: ['test.dev/x'] } });
    expect(await client.delete(things, 'a')).toEqual({ gone: false });
  });

  test('a delete fenced by a uid spares the namesake', async () => {
    api.put(`${thingsPath}/a`);
    const error = await failureOf(client.delete(things, 'a', { uid: 'old' }));
    expect(error).toMatchObject({ isConflict: true, outcome: 'refused' });
    expect(api.object(`${thingsPath}/a`)).toBeDefined();
  });

  test('rawGet parses JSON and passes anything else as text', async () => {
    expect(await client.rawGet('/version')).toMatchObject({ major: '1' });
    expect(await client.rawGet('/readyz')).toBe('ok');
  });
});

describe('what became of a write', () => {
  const write = () => client.create(things, thing('x'), { retries: 0 });

  test.each([
    [400, 'BadRequest', 'refused'],
    [403, 'Forbidden', 'refused'],
    [404, 'NotFound', 'refused'],
    [409, 'AlreadyExists', 'refused'],
    [422, 'Invalid', 'refused'],
    [429, 'TooManyRequests', 'refused'],
    [500, 'InternalError', 'unknown'],
    [502, '', 'unknown'],
    [503, 'ServiceUnavailable', 'unknown'],
    [504, 'Timeout', 'unknown'],
  ])('an answer of %i %s means %s', async (status, reason, outcome) => {
    api.intercept = (_asked, response) => {
      sendStatus(response, status, reason);
      return true;
    };
    const error = await failureOf(write());
    expect(error).toMatchObject({ status, reason, outcome, code: 'API_REFUSED' });
    expect(api.asked).toHaveLength(1);
  });

  test('a connection that breaks after the write was sent means unknown, and it is not sent again', async () => {
    api.proxy.set({ closeAfterWrite: 1 });
    const error = await failureOf(write());
    expect(error).toMatchObject({ status: 0, outcome: 'unknown', code: 'API_UNREACHABLE' });
    expect(api.asked).toHaveLength(1);
  });

  test('a connection that breaks in the middle of the answer means unknown', async () => {
    api.intercept = (_asked, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"meta', () => response.destroy());
      return true;
    };
    expect(await failureOf(write())).toMatchObject({ outcome: 'unknown' });
  });

  test('no answer in time means unknown', async () => {
    api.intercept = () => true;
    const error = await failureOf(client.create(things, thing('x'), { timeoutMs: 50 }));
    expect(error).toMatchObject({ status: 0, outcome: 'unknown', code: 'API_TIMEOUT' });
  });

  test('a server that is not there means refused: nothing left this process', async () => {
    await api.stop();
    const error = await failureOf(write());
    expect(error).toMatchObject({ status: 0, outcome: 'refused', code: 'API_UNREACHABLE' });
    expect(error.message).toContain('ECONNREFUSED');
    expect(error.remedy).toContain('kubeconfig');
    api = await TestApi.start();
  });

  test('a write that is called off while it waits for a connection is never sent', async () => {
    const narrow = new KubeClient(api.access(), { connections: 1 });
    api.intercept = () => true;
    const first = failureOf(narrow.create(things, thing('a'), { timeoutMs: 200 }));
    const second = await failureOf(narrow.create(things, thing('b'), { timeoutMs: 50 }));
    expect(second).toMatchObject({ outcome: 'refused', code: 'API_TIMEOUT' });
    expect((await first).outcome).toBe('unknown');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(api.asked.map(({ body }) => body?.metadata?.name)).toEqual(['a']);
    await narrow.close();
  });

  test('a 200 that is not JSON means unknown', async () => {
    api.intercept = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>log in');
      return true;
    };
    const error = await failureOf(write());
    expect(error).toMatchObject({ outcome: 'unknown' });
    expect(error.message).toContain('not JSON but text/html');
  });

  test('a read has no outcome', async () => {
    const error = await failureOf(client.get(things, 'nobody'));
    expect(error).toMatchObject({ isNotFound: true, outcome: undefined });
    expect(error.message).toContain(`GET ${thingsPath}/nobody was answered 404 NotFound`);
  });
});

describe('trying again', () => {
  test('429 is tried again for writes, after the Retry-After, and not for ever', async () => {
    let refusals = 2;
    api.intercept = (_asked, response) => {
      if (refusals === 0) return false;
      refusals -= 1;
      sendStatus(response, 429, 'TooManyRequests', 0);
      return true;
    };
    await client.create(things, thing('x'));
    expect(api.asked).toHaveLength(3);
    refusals = 100;
    const error = await failureOf(client.create(things, thing('y'), { retries: 2 }));
    expect(error).toMatchObject({ isThrottled: true, outcome: 'refused', retryAfterSeconds: 0 });
    expect(api.asked).toHaveLength(6);
  });

  test('the Retry-After is waited for', async () => {
    const times: number[] = [];
    api.intercept = (_asked, response) => {
      times.push(performance.now());
      if (times.length > 1) return false;
      sendStatus(response, 429, 'TooManyRequests', 1);
      return true;
    };
    await client.create(things, thing('x'));
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(1_000);
  });

  test('a Retry-After of minutes is told to the caller instead', async () => {
    api.intercept = (_asked, response) => {
      sendStatus(response, 429, 'TooManyRequests', 600);
      return true;
    };
    expect(await failureOf(client.get(things, 'x'))).toMatchObject({ retryAfterSeconds: 600 });
  });

  test('503 is tried again for a read that was told when, and not for a write', async () => {
    let refusals = 1;
    api.intercept = (_asked, response) => {
      if (refusals === 0) return false;
      refusals -= 1;
      sendStatus(response, 503, 'ServiceUnavailable', 0);
      return true;
    };
    await client.list(things);
    refusals = 1;
    const error = await failureOf(client.create(things, thing('x')));
    expect(error).toMatchObject({ status: 503, outcome: 'unknown' });
  });

  test('a wait ends when the request is called off', async () => {
    api.intercept = (_asked, response) => {
      sendStatus(response, 429, 'TooManyRequests', 20);
      return true;
    };
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30);
    const startedMs = performance.now();
    await failureOf(client.get(things, 'x', { signal: stop.signal }));
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  test('a read survives keep-alive connections that the server closed', async () => {
    api.put(`${thingsPath}/a`);
    let drops = 0;
    api.intercept = (_asked, response) => {
      if (drops === 0) return false;
      drops -= 1;
      response.destroy();
      return true;
    };
    await client.get(things, 'a');
    drops = 2;
    await client.get(things, 'a');
    drops = 3;
    await failureOf(client.get(things, 'a'));
  });

  test('a server that closes every idle connection at once never disturbs reads', async () => {
    const sockets = new Set<Socket>();
    const server: Server = createServer((_request, response) => {
      sendJson(response, 200, { metadata: { name: 'a' } });
      // As late as possible: the client has the answer and the connection back.
      setImmediate(() => {
        for (const socket of sockets) socket.destroy();
      });
    });
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const rude = new KubeClient(
      api.access({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
    );
    for (let i = 0; i < 200; i += 1) await rude.get(things, 'a');
    await rude.close();
    server.close();
  });
});

describe('who we are', () => {
  test('after a 401 a new credential is tried once, for writes too', async () => {
    let current: Credential = { authorization: 'Bearer old' };
    const renewed = new KubeClient(
      api.access({
        credentials: {
          current: () => current,
          renew: async (rejected) => {
            expect(rejected.authorization).toBe('Bearer old');
            current = { authorization: 'Bearer new' };
            return true;
          },
        },
      }),
    );
    api.intercept = (asked, response) => {
      if (asked.headers.authorization === 'Bearer new') return false;
      sendStatus(response, 401, 'Unauthorized');
      return true;
    };
    await renewed.create(things, thing('x'));
    expect(api.asked).toHaveLength(2);
    await renewed.close();
  });

  test('a 401 with nothing new to offer is told, with what to do', async () => {
    api.intercept = (_asked, response) => {
      sendStatus(response, 401, 'Unauthorized');
      return true;
    };
    const error = await failureOf(client.create(things, thing('x')));
    expect(error).toMatchObject({ status: 401, outcome: 'refused' });
    expect(error.remedy).toContain('credentials');
    expect(api.asked).toHaveLength(1);
  });

  test('a server under a path, as behind a gateway, keeps the path', async () => {
    const behind = new KubeClient(api.access({ server: `${api.url}/k8s/clusters/c-1` }));
    await behind.rawGet('/version').catch(() => {});
    expect(api.asked[0]?.path).toBe('/k8s/clusters/c-1/version');
    await behind.close();
  });
});

describe('lists', () => {
  test('pages come one by one and are one moment', async () => {
    for (let i = 0; i < 25; i += 1) api.put(`${thingsPath}/t${String(i).padStart(2, '0')}`);
    let read = 0;
    const { resourceVersion } = await client.listEach(
      things,
      { limit: 10 },
      {
        onStart: () => undefined,
        onItem: () => {
          read += 1;
          if (read % 10 === 0) api.put(`${thingsPath}/new-${read}`);
        },
      },
    );
    expect(read).toBe(25);
    expect(api.asked.map(({ query }) => query.get('limit'))).toEqual(['10', '10', '10']);
    expect(Number(resourceVersion)).toBe(api.version - 2);
  });

  test('a list whose moment expires between pages starts again', async () => {
    for (let i = 0; i < 25; i += 1) api.put(`${thingsPath}/t${String(i).padStart(2, '0')}`);
    let expiries = 1;
    api.intercept = ({ query }, response) => {
      if (!query.has('continue') || expiries === 0) return false;
      expiries -= 1;
      sendStatus(response, 410, 'Expired');
      return true;
    };
    let names: string[] = [];
    await client.listEach<StoredObject>(
      things,
      { limit: 10 },
      {
        onStart: () => {
          names = [];
        },
        onItem: ({ metadata }) => names.push(metadata.name),
      },
    );
    expect(expiries).toBe(0);
    expect(names).toHaveLength(25);
    expect(new Set(names).size).toBe(25);
  });

  test('a list that expires for ever is asked for in one piece in the end', async () => {
    for (let i = 0; i < 25; i += 1) api.put(`${thingsPath}/t${i}`);
    api.proxy.set({ goneContinue: 1 });
    const { items } = await client.list(things, { limit: 10 });
    expect(items).toHaveLength(25);
    expect(api.asked.at(-1)?.query.has('limit')).toBe(false);
  });

  test('a page that breaks in the middle is not sent again: its objects were handed over', async () => {
    api.intercept = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const text = '{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},{"met';
      response.write(text, () => response.destroy());
      return true;
    };
    const names: string[] = [];
    const reader = {
      onStart: () => {},
      onItem: (item: { metadata: { name: string } }) => names.push(item.metadata.name),
    };
    expect(await failureOf(client.listEach(things, {}, reader))).toMatchObject({ status: 0 });
    expect(names).toEqual(['a']);
    expect(api.asked).toHaveLength(1);
  });

  test('selectors are passed on, and an answer that is no list is refused', async () => {
    await client.list(things, { labelSelector: 'a in (b,c)', fieldSelector: 'metadata.name=x' });
    expect(api.asked[0]?.query.get('labelSelector')).toBe('a in (b,c)');
    expect(api.asked[0]?.query.get('fieldSelector')).toBe('metadata.name=x');
    api.intercept = (_asked, response) => {
      sendJson(response, 200, { kind: 'Thing' });
      return true;
    };
    expect((await failureOf(client.list(things))).message).toContain('not a list');
  });
});

describe('watches', () => {
  function watch(options: { silenceMs?: number; signal?: AbortSignal } = {}) {
    const events: WatchEvent[] = [];
    const done = client.watch(
      things,
      { resourceVersion: String(api.version), timeoutSeconds: 30, ...options },
      (event) => events.push(event),
    );
    return { events, done };
  }

  test('events arrive as they happen; the end of the stream ends it', async () => {
    const { events, done } = watch();
    await until('the watch is up', () => api.proxy.watching === 1);
    api.put(`${thingsPath}/a`);
    api.delete(`${thingsPath}/a`);
    await until('two events', () => events.length === 2);
    api.proxy.sendToWatches(bookmark);
    await until('three events', () => events.length === 3);
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'DELETED', 'BOOKMARK']);
    api.proxy.endWatches();
    await done;
  });

  test('a connection that breaks fails the watch and is not retried in here', async () => {
    const { done } = watch();
    await until('the watch is up', () => api.proxy.watching === 1);
    api.proxy.dropWatches();
    expect(await failureOf(done)).toMatchObject({ status: 0 });
    expect(api.asked).toHaveLength(1);
  });

  test('a connection that goes silent is given up', async () => {
    const { done } = watch({ silenceMs: 60 });
    await until('the watch is up', () => api.proxy.watching === 1);
    const error = await failureOf(done);
    expect(error.code).toBe('API_TIMEOUT');
    await until('the connection is closed', () => api.proxy.watching === 0);
  });

  test('bytes keep it alive', async () => {
    const stop = new AbortController();
    // Together longer than the silence that is allowed, each far shorter, also on a busy machine.
    const { events, done } = watch({ silenceMs: 1_500, signal: stop.signal });
    await until('the watch is up', () => api.proxy.watching === 1);
    for (let i = 0; i < 6; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      api.proxy.sendToWatches(bookmark);
    }
    await until('six bookmarks', () => events.length === 6);
    stop.abort();
    await failureOf(done);
  });

  test('an HTTP error is told like any other', async () => {
    api.proxy.set({ goneWatch: 1 });
    const done = client.watch(things, { resourceVersion: '1' }, () => {});
    expect(await failureOf(done)).toMatchObject({ isGone: true });
  });

  test('what the callback throws ends the watch', async () => {
    const done = client.watch(things, { resourceVersion: String(api.version) }, () => {
      throw new TypeError('mine');
    });
    await until('the watch is up', () => api.proxy.watching === 1);
    api.put(`${thingsPath}/a`);
    await expect(done).rejects.toThrow('mine');
    await until('the connection is closed', () => api.proxy.watching === 0);
  });

  test('many watches leave the connections for requests alone', async () => {
    const narrow = new KubeClient(api.access(), { connections: 1 });
    const stop = new AbortController();
    const watches = [1, 2, 3, 4].map(() =>
      narrow
        .watch(things, { resourceVersion: String(api.version), signal: stop.signal }, () => {})
        .catch(() => {}),
    );
    await until('the watches are up', () => api.proxy.watching === 4);
    await narrow.list(things);
    stop.abort();
    await Promise.all(watches);
    await narrow.close();
  });
});

test('requests are counted by verb, resource and answer', async () => {
  const metrics = new Metrics();
  const counted = new KubeClient(api.access(), { metrics });
  await counted.list(things);
  await counted.get(things, 'x').catch(() => {});
  expect(metrics.text()).toContain(
    'cadastre_kube_requests_total{code="200",resource="things",verb="list"} 1',
  );
  expect(metrics.text()).toContain(
    'cadastre_kube_requests_total{code="404",resource="things",verb="get"} 1',
  );
  await counted.close();
});

test('one signal stops many requests, and Node does not take that for a leak', async () => {
  const warnings: string[] = [];
  const listen = (warning: Error) => warnings.push(warning.message);
  process.on('warning', listen);
  const stop = new AbortController();
  api.intercept = () => true;
  const all = Array.from({ length: 30 }, () =>
    failureOf(client.get(things, 'x', { signal: stop.signal })),
  );
  await until('all are under way', () => api.asked.length === 30);
  stop.abort();
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(30).fill(0));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', listen);
  expect(warnings).toEqual([]);
});

test('closing breaks off what is under way', async () => {
  api.intercept = () => true;
  const pending = failureOf(client.get(things, 'x'));
  await until('it was asked', () => api.asked.length === 1);
  await client.close();
  await pending;
  expect((await failureOf(client.get(things, 'x'))).message).toContain('closed');
});
