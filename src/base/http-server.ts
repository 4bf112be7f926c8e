/**
 * A small HTTP server: routes by method and path, answers in JSON or text,
 * and a close that waits for what is under way and for nothing else.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CadastreError, describeError } from './errors.ts';
import { type Log, silentLog } from './log.ts';
import { createServer } from './node-http.ts';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** What `:name` segments of the route matched, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  /** The body as text; refused above `maxBodyBytes`. */
  text(): Promise<string>;
  /** The body as JSON; malformed JSON is answered with 400. */
  json(): Promise<unknown>;
}

export interface HttpAnswer {
  status?: number;
  /** An object or array is sent as JSON, a string as text, octets as they are. */
  body?: unknown;
  /** In place of a body: takes over the response once its head is sent, and ends it. */
  stream?: (outgoing: ServerResponse) => void;
  contentType?: string;
  headers?: Record<string, string>;
}

/** Looks at every request before its route does; an answer is the last word. */
export type HttpGuard = (request: Omit<HttpRequest, 'params'>) => HttpAnswer | undefined;

export type HttpHandler = (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;

type ListenAt = { host: string; port: number } | { socketPath: string };

/** Thrown by a handler to answer with a status and a sentence. */
export class HttpRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Route {
  method: string;
  segments: string[];
  handler: HttpHandler;
}

export class HttpServer {
  readonly #routes: Route[] = [];
  readonly #server: Server;
  readonly #log: Log;
  readonly #maxBodyBytes: number;
  readonly #guard: HttpGuard | undefined;
  readonly #headers: Record<string, string>;
  readonly #refusalBody: (status: number, message: string) => object;

  /** `headers` go with every answer; `refusalBody` makes those that no handler gives. */
  constructor(
    options: {
      log?: Log;
      maxBodyBytes?: number;
      guard?: HttpGuard;
      headers?: Record<string, string>;
      refusalBody?: (status: number, message: string) => object;
    } = {},
  ) {
    this.#guard = options.guard;
    this.#headers = options.headers ?? {};
    this.#refusalBody = options.refusalBody ?? ((_, error) => ({ error }));
    this.#log = options.log ?? silentLog;
    this.#maxBodyBytes = options.maxBodyBytes ?? 1024 * 1024;
    this.#server = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing));
  }

  /** `path` may hold `:name` segments. The first route that matches serves. */
  on(method: string, path: string, handler: HttpHandler): this {
    this.#routes.push({ method, segments: path.split('/'), handler });
    return this;
  }

  async listen(at: ListenAt): Promise<void> {
    const where = 'socketPath' in at ? at.socketPath : `${at.host}:${at.port}`;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause: NodeJS.ErrnoException) => {
        const isTaken = cause.code === 'EADDRINUSE';
        const why = isTaken ? 'somebody listens there already' : describeError(cause);
        reject(
          new CadastreError('BAD_FLAG', `cannot listen on ${where}: ${why}`, {
            cause,
            ...(isTaken ? { remedy: 'Stop what listens there, or give another port.' } : {}),
          }),
        );
      });
      if ('socketPath' in at) this.#server.listen(at.socketPath, resolve);
      else this.#server.listen(at.port, at.host, resolve);
    });
  }

  /** The TCP port, once listening: useful after asking for port 0. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Answers under way are finished; idle connections are closed at once. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
    });
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    let answer: HttpAnswer;
    try {
      answer = await this.#answer(incoming);
    } catch (error) {
      answer = this.#failure(incoming, error);
    }
    if (answer.stream !== undefined) {
      const { contentType = 'text/plain; charset=utf-8' } = answer;
      const headers = { ...this.#headers, 'content-type': contentType, ...answer.headers };
      outgoing.writeHead(answer.status ?? 200, headers);
      answer.stream(outgoing);
      return;
    }
    const { payload, contentType } = encode(answer);
    outgoing.writeHead(answer.status ?? 200, {
      ...this.#headers,
      'content-type': contentType,
      'content-length': payload.byteLength,
      // While closing, a kept-alive connection would hold the close back; and what
      // is left of a refused body must not be read as the next request.
      ...(this.#server.listening && incoming.complete ? {} : { connection: 'close' }),
      ...answer.headers,
    });
    outgoing.end(incoming.method === 'HEAD' ? undefined : payload);
  }

  async #answer(incoming: IncomingMessage): Promise<HttpAnswer> {
    const method = incoming.method ?? 'GET';
    const url = parseUrl(incoming.url ?? '/');
    const segments = url.pathname.split('/');
    const request = {
      method,
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      text: () => readBody(incoming, this.#maxBodyBytes),
      json: async () => parseJson(await readBody(incoming, this.#maxBodyBytes)),
    };
    const stopped = this.#guard?.(request);
    if (stopped !== undefined) return stopped;
    const otherMethods = new Set<string>();
    for (const route of this.#routes) {
      const params = matchSegments(route.segments, segments);
      if (params === undefined) continue;
      if (route.method !== method && !(method === 'HEAD' && route.method === 'GET')) {
        otherMethods.add(route.method);
        continue;
      }
      return route.handler({ ...request, params });
    }
    if (otherMethods.size > 0) {
      const allow = [...otherMethods].join(', ');
      const message = `${url.pathname} takes ${allow}, not ${method}`;
      return { status: 405, headers: { allow }, body: this.#refusalBody(405, message) };
    }
    return { status: 404, body: this.#refusalBody(404, `no such path: ${url.pathname}`) };
  }

  #failure(incoming: IncomingMessage, error: unknown): HttpAnswer {
    if (error instanceof HttpRefusal) {
      return { status: error.status, body: this.#refusalBody(error.status, error.message) };
    }
    const message = describeError(error);
    this.#log.error({ verb: incoming.method, path: incoming.url, error: message }, 'answer failed');
    return { status: 500, body: this.#refusalBody(500, message) };
  }
}

function encode(answer: HttpAnswer): { payload: Buffer; contentType: string } {
  const { body, contentType } = answer;
  if (body instanceof Uint8Array) {
    return { payload: Buffer.from(body), contentType: contentType ?? 'application/octet-stream' };
  }
  if (body === undefined || typeof body === 'string') {
    return {
      payload: Buffer.from(body ?? ''),
      contentType: contentType ?? 'text/plain; charset=utf-8',
    };
  }
  return {
    payload: Buffer.from(`${JSON.stringify(body)}\n`),
    contentType: contentType ?? 'application/json',
  };
}

function parseUrl(target: string): URL {
  try {
    return new URL(target, 'http://localhost');
  } catch {
    throw new HttpRefusal(400, `not a path: ${target}`);
  }
}

function matchSegments(route: string[], path: string[]): Record<string, string> | undefined {
  if (route.length !== path.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, want] of route.entries()) {
    const have = path[i] as string;
    if (want.startsWith(':')) params[want.slice(1)] = decodeSegment(have);
    else if (want !== have) return undefined;
  }
  return params;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new HttpRefusal(400, `not a path segment: ${segment}`);
  }
}

/**
 * By events rather than `for await`: leaving such a loop early destroys the
 * socket, and the refusal could no longer be sent.
 */
function readBody(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size <= maxBytes) chunks.push(chunk);
      else reject(new HttpRefusal(413, `the body is larger than ${maxBytes} bytes`));
    });
    incoming.on('error', reject);
    incoming.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpRefusal(400, `the body is not JSON: ${describeError(error)}`);
  }
}
