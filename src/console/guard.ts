/**
 * Who may ask. On loopback anybody on the machine may look, but a page of the
 * web must not: its requests carry its own name in `Host` (DNS rebinding) or in
 * `Origin` (a form or a fetch across sites). Anywhere else a token is demanded.
 *
 * Whoever changes something also sends the token for changes, in a header: another user of
 * this machine can send any `Host` and `Origin`. It is no cookie, because a browser sends
 * the cookies of 127.0.0.1 to every port of it, whoever listens there.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { HttpAnswer, HttpGuard, HttpRequest } from '../base/http-server.ts';
import { type Refusal, refusalAnswer } from './refusal.ts';
import { changeTokenHeader } from './try-it.ts';

export interface GuardOptions {
  /** Listening on loopback only: then `Host` must name it. */
  isLoopback: boolean;
  /** Demanded if there is one. */
  token: string | undefined;
  /** Demanded for every change; without one nothing can be changed. */
  changeToken: string | undefined;
}

export const cookieName = 'cadastre-console';
/** Asked by machines that carry no token, and learning nothing. */
const openPaths = new Set(['/livez', '/readyz']);

export function isLoopbackHost(host: string): boolean {
  return (
    host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
  );
}

export function consoleGuard({ isLoopback, token, changeToken }: GuardOptions): HttpGuard {
  return ({ method, path, query, headers }) => {
    const refuse = (refusal: Refusal) => refusalAnswer(refusal, headers);
    const host = headers.host ?? '';
    if (isLoopback && !isLoopbackHost(hostOf(host))) return refuse(wrongHost(host));
    if (token !== undefined && !openPaths.has(path)) {
      const given = query.get('token');
      // Once by the address that was printed; from then on by a cookie that no script can read.
      if (given !== null && isSame(given, token) && method === 'GET') return enter(path, token);
      const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
      const known = bearer ?? cookieOf(headers.cookie) ?? '';
      if (!isSame(known, token)) return refuse(notKnown);
    }
    if (method === 'GET' || method === 'HEAD') return undefined;
    const refused = refuseChange(headers, changeToken);
    return refused && refuse(refused);
  };
}

function wrongHost(host: string): Refusal {
  return {
    status: 421,
    error: `this console is for the machine it runs on; the request was for ${host}`,
    remedy: 'open the address that was printed when the console was started',
  };
}

const notKnown: Refusal = {
  status: 401,
  error: 'this console is only for those who know its token',
  remedy: 'open its address with ?token=… at the end; the token is in the file it was started with',
};

function refuseChange(
  headers: HttpRequest['headers'],
  changeToken: string | undefined,
): Refusal | undefined {
  if (changeToken === undefined) {
    return {
      status: 403,
      error: 'this console only looks',
      remedy: 'start cadastre up to change a site of your own',
    };
  }
  const { origin, host } = headers;
  if (origin === undefined || !/^https?:\/\//.test(origin) || hostPart(origin) !== host) {
    return {
      status: 403,
      error: 'only the page of the console itself may change something',
      remedy: 'open the console and use its view Try it',
    };
  }
  if (!/^application\/json\b/.test(headers['content-type'] ?? '')) {
    return {
      status: 415,
      error: 'the body must be application/json',
      remedy: 'open the console and use its view Try it',
    };
  }
  const given = headers[changeTokenHeader];
  if (typeof given === 'string' && isSame(given, changeToken)) return undefined;
  return {
    status: 401,
    error: 'this changes the site, and the token for changes is missing or of an earlier start',
    remedy:
      'open the address that cadastre up printed after "console" in the terminal where it runs',
  };
}

function hostPart(origin: string): string {
  return origin.slice(origin.indexOf('//') + 2);
}

/** Without its port. */
function hostOf(host: string): string {
  return host.replace(/:\d+$/, '');
}

function cookieOf(cookies: string | undefined): string | undefined {
  for (const part of (cookies ?? '').split(';')) {
    const [name, value] = part.trim().split('=');
    if (name === cookieName) return value;
  }
  return undefined;
}

function enter(path: string, token: string): HttpAnswer {
  const cookie = `${cookieName}=${token}; Path=/; HttpOnly; SameSite=Strict`;
  return { status: 303, headers: { location: path, 'set-cookie': cookie } };
}

/** Digests first: equal length, and a time that reveals nothing. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
