import { describe, expect, test } from 'vitest';
import type { HttpRequest } from '../base/http-server.ts';
import { consoleGuard, cookieName } from './guard.ts';
import { changeTokenHeader } from './try-it.ts';

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
  const changeToken = 'made-at-the-start';
  const guard = consoleGuard({ isLoopback: true, token: undefined, changeToken });

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

  const own = {
    host: '127.0.0.1:7077',
    'content-type': 'application/json',
    [changeTokenHeader]: changeToken,
  };
  const page = { ...own, origin: 'http://127.0.0.1:7077' };

  test('the console itself may try things', () => {
    expect(guard(ask('/api/try/add-node', page, 'POST'))).toBeUndefined();
  });

  test.each([
    ['none', { ...page, [changeTokenHeader]: '' }],
    ['another', { ...page, [changeTokenHeader]: 'made-at-the-last' }],
    ['a longer one', { ...page, [changeTokenHeader]: `${changeToken}x` }],
    [
      'one in a cookie',
      { ...page, [changeTokenHeader]: '', cookie: `${cookieName}=${changeToken}` },
    ],
    ['a bearer', { ...page, [changeTokenHeader]: '', authorization: `Bearer ${changeToken}` }],
  ])('another user of the machine can forge the origin, not the token: %s', (_, headers) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'BREW']) {
      expect(guard(ask('/api/try/add-node', headers, method))?.status, method).toBe(401);
    }
  });

  test('nor by the address, which would be in logs', () => {
    const headers = { ...page, [changeTokenHeader]: '' };
    const asked = ask(`/api/try/add-node?token=${changeToken}`, headers, 'POST');
    expect(guard(asked)?.status).toBe(401);
  });

  test('a console without anything to try changes nothing, whatever is sent', () => {
    const looking = consoleGuard({ isLoopback: true, token: undefined, changeToken: undefined });
    expect(looking(ask('/api/try/add-node', page, 'POST'))?.status).toBe(403);
  });

  test('a browser gets a page that says what to do, a program JSON', () => {
    const without = { ...page, [changeTokenHeader]: '' };
    const told = guard(ask('/api/try/add-node', { ...without, accept: 'text/html,*/*' }, 'POST'));
    expect(told).toMatchObject({ status: 401, contentType: 'text/html; charset=utf-8' });
    expect(told?.body).toContain('Open the address that cadastre up printed');
    expect(guard(ask('/api/try/add-node', without, 'POST'))?.body).toEqual({
      error: expect.stringContaining('the token for changes is missing'),
      remedy: expect.stringContaining('open the address that cadastre up printed'),
    });
  });

  test('what a request says of itself does not become part of the page', () => {
    const host = '<script>alert("1")</script>&.evil';
    const told = guard(ask('/', { host, accept: 'text/html' }));
    expect(told?.status).toBe(421);
    expect(told?.body).not.toContain('<script>');
    expect(told?.body).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;.evil');
  });

  test.each([
    [{ ...own, origin: 'http://evil.example' }, 403],
    [{ ...own, origin: 'http://127.0.0.1:8080' }, 403],
    [{ ...own, origin: 'null' }, 403],
    [own, 403],
    [{ ...page, 'content-type': 'text/plain' }, 415],
  ])('another page, another port, a form: refused %#', (headers, status) => {
    expect(guard(ask('/api/try/add-node', headers, 'POST'))?.status).toBe(status);
  });
});

describe('with a token', () => {
  const token = 'a-secret-of-some-length';
  const changeToken = 'for-changes-alone';
  const guard = consoleGuard({ isLoopback: false, token, changeToken });
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

  test('who may look may not change: that needs the other token as well', () => {
    const headers = {
      ...{ host, cookie: `${cookieName}=${token}`, origin: `http://${host}` },
      'content-type': 'application/json',
    };
    const change = (given: string, more = {}) =>
      guard(ask('/api/try/x', { ...headers, [changeTokenHeader]: given, ...more }, 'POST'));
    expect(change(token)?.status).toBe(401);
    expect(change(changeToken)).toBeUndefined();
    expect(change(changeToken, { cookie: '' })?.status).toBe(401);
  });

  test('the page for a browser without it explains', () => {
    const told = guard(ask('/consistency', { host, accept: 'text/html' }));
    expect([told?.status, told?.contentType]).toEqual([401, 'text/html; charset=utf-8']);
    expect(told?.body).toContain('?token=');
  });

  test('the address that was printed sets the cookie and is left at once', () => {
    const answer = guard(ask(`/consistency?token=${token}`, { host }));
    expect(answer).toMatchObject({ status: 303, headers: { location: '/consistency' } });
    expect(answer?.headers?.['set-cookie']).toMatch(/HttpOnly; SameSite=Strict$/);
    expect(guard(ask('/consistency?token=wrong', { host }))?.status).toBe(401);
  });
});
