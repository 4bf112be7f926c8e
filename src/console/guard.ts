/**
 * Who may ask. On loopback anybody on the machine may look, but a page of the
 * web must not: its requests carry its own name in `Host` (DNS rebinding) or in
 * `Origin` (a form or a fetch across sites). Anywhere else a token is demanded.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { HttpAnswer, HttpGuard } from '../base/http-server.ts';

export interface GuardOptions {
  /** Listening on loopback only: then `Host` must name it. */
  isLoopback: boolean;
  /** Demanded if there is one. */
  token: string | undefined;
}

export const cookieName = 'cadastre-console';
/** Asked by machines that carry no token, and learning nothing. */
const openPaths = new Set(['/livez', '/readyz']);

export function isLoopbackHost(host: string): boolean {
  return (
    host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
  );
}

export function consoleGuard({ isLoopback, token }: GuardOptions): HttpGuard {
  return ({ method, path, query, headers }) => {
    const host = headers.host ?? '';
    if (isLoopback && !isLoopbackHost(hostOf(host))) {
      return refuse(421, `this console is for the machine it runs on; the request was for ${host}`);
    }
    if (token !== undefined && !openPaths.has(path)) {
      const given = query.get('token');
      // Once by the address that was printed; from then on by a cookie that no script can read.
      if (given !== null && isSame(given, token) && method === 'GET') return enter(path, token);
      const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
      const known = bearer ?? cookieOf(headers.cookie) ?? '';
      if (!isSame(known, token)) return refuse(401, 'open the address with ?token=… at its end');
    }
    if (method !== 'GET' && method !== 'HEAD') return crossSite(headers, host);
    return undefined;
  };
}

function crossSite(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  host: string,
): HttpAnswer | undefined {
  const { origin } = headers;
  const isOwn =
    typeof origin === 'string' && /^https?:\/\//.test(origin) && hostPart(origin) === host;
  if (!isOwn) return refuse(403, 'only the console itself may ask for this');
  if (!/^application\/json\b/.test(String(headers['content-type'] ?? ''))) {
    return refuse(415, 'the body must be application/json');
  }
  return undefined;
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

function refuse(status: number, error: string): HttpAnswer {
  return { status, body: { error } };
}
