/** A request under way: what it is served with, and how it is answered. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../../base/log.ts';
import type { Api } from '../api.ts';

export interface HandlerOptions {
  api: Api;
  token: string;
  log: Log;
  /** host:port, for clients that ask. */
  address: () => string;
  isReady: () => boolean;
  /** Watches under way, so that a stop can end them. */
  watches: Set<() => void>;
  onAnswer: ((answered: AnsweredRequest) => void) | undefined;
}

/** A request and what became of it, once it is answered; a watch when it ends. */
export interface AnsweredRequest {
  method: string;
  path: string;
  userAgent: string;
  code: number;
  /** Of the object that was written: a create does not have it in its path. */
  name: string | undefined;
}

const names = new WeakMap<ServerResponse, string>();

export function noteName(outgoing: ServerResponse, name: string): void {
  names.set(outgoing, name);
}

export function notedName(outgoing: ServerResponse): string | undefined {
  return names.get(outgoing);
}

export interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  method: string;
  path: string;
  query: URLSearchParams;
}

export function sendJson(
  outgoing: ServerResponse,
  code: number,
  body: object | string,
  contentType = 'application/json',
): void {
  const text = typeof body === 'string' ? body : `${JSON.stringify(body)}\n`;
  const payload = Buffer.from(text);
  outgoing.writeHead(code, { 'content-type': contentType, 'content-length': payload.byteLength });
  outgoing.end(payload);
}
