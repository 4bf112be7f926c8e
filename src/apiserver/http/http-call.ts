/** One request with its answer under way, and the ways to send the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface HttpCall {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  method: string;
  path: string;
  query: URLSearchParams;
}

const names = new WeakMap<ServerResponse, string>();

/** The object that is written, for whoever follows the answers: a create has no name in its path. */
export function noteName(outgoing: ServerResponse, name: string): void {
  names.set(outgoing, name);
}

export function notedName(outgoing: ServerResponse): string | undefined {
  return names.get(outgoing);
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

export function sendText(outgoing: ServerResponse, code: number, text: string): void {
  outgoing.writeHead(code, { 'content-type': 'text/plain; charset=utf-8' });
  outgoing.end(text);
}
