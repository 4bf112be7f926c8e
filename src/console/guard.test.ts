import { describe, expect, test } from 'vitest';
import type { HttpRequest } from '../base/http-server.ts';
import { consoleGuard, cookieName } from './guard.ts';

type Asked = Parameters<ReturnType<typeof consoleGuard>>[0];

function ask(path: string, headers: Record<string, string>, method = 'GET'): Asked {
  const url = new URL(path, 'http://x');
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    headers: headers as HttpRequest['headers'],
    text: async () => '',
    json: async () => ({}),
  };
}

describe('on loopback', () => {
  const guard = consoleGuard({ isLoopback: true, token: undefined });

  test.each(['127.0.0.1:7077', 'localhost:7077', '[::1]:7077', '127.0.0.1'])(
    '%s may look',
    (host) => {
      expect(guard(ask('/api/state', { host }))).toBeUndefined();
    },
  );

  test.each([
    'evil.example:7077',
    '10.0.0.1:7077',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '',
  ])('a page of the web that points its own name here may not: %j', (host) => {
    expect(guard(ask('/api/state', { host }))?.status).toBe(421);
  });

  const own = { host: '127.0.0.1:7077', 'content-type': 'application/json' };

  test('the console itself may try things', () => {
    const headers = { ...own, origin: 'http://127.0.0.1:7077' };
    expect(guard(ask('/api/try/add-node', headers, 'POST'))).toBeUndefined();
  });

  test.each([
    [{ ...own, origin: 'http://evil.example' }, 403],
    [{ ...own, origin: 'http://127.0.0.1:8080' }, 403],
    [{ ...own, origin: 'null' }, 403],
    [own, 403],
    [{ ...own, origin: 'http://127.0.0.1:7077', 'content-type': 'text/plain' }, 415],
  ])('another page, another port, a form: refused %#', (headers, status) => {
    expect(guard(ask('/api/try/add-node', headers, 'POST'))?.status).toBe(status);
  });
});

describe('with a token', () => {
  const token = 'a-secret-of-some-length';
  const guard = consoleGuard({ isLoopback: false, token });
  const host = 'console.example';

  test.each([
    [{ host }],
    [{ host, authorization: 'Bearer wrong' }],
    [{ host, cookie: `${cookieName}=wrong` }],
    [{ host, cookie: `other=${token}` }],
  ])('nobody without it gets in %#', (headers) => {
    expect(guard(ask('/api/state', headers))?.status).toBe(401);
    expect(guard(ask('/metrics', headers))?.status).toBe(401);
  });

  test('a header or a cookie opens; probes need neither', () => {
    expect(guard(ask('/api/state', { host, authorization: `Bearer ${token}` }))).toBeUndefined();
    expect(
      guard(ask('/api/state', { host, cookie: `a=b; ${cookieName}=${token}` })),
    ).toBeUndefined();
    expect(guard(ask('/readyz', { host }))).toBeUndefined();
  });

  test('the address that was printed sets the cookie and is left at once', () => {
    const answer = guard(ask(`/truth?token=${token}`, { host }));
    expect(answer).toMatchObject({ status: 303, headers: { location: '/truth' } });
    expect(answer?.headers?.['set-cookie']).toMatch(/HttpOnly; SameSite=Strict$/);
    expect(guard(ask('/truth?token=wrong', { host }))?.status).toBe(401);
  });
});
