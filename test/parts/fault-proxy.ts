/**
 * An API server that lies and breaks.
 *
 * A plain HTTP proxy on loopback in front of the real or the embedded API server,
 * with admin credentials of its own. Every request may meet one fault; which one is
 * drawn from a seeded generator, so a run can be told again as far as the order of
 * requests is the same. Faults can be changed, and counted, at any time. A test that
 * needs one particular fault at one particular moment has `intercept`.
 *
 * A stale list is one that was true once: the whole list of that path as
 * recorded earlier, with its own older resourceVersion, as a lagging replica
 * would answer.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import type { KubeObject } from '../../src/model/object.ts';
import { seededRandom } from './seeded-random.ts';

/** Each a probability from 0 to 1. */
export interface Faults {
  /** Before a write: 409, not done. */
  conflict: number;
  /** 429 with Retry-After: 1, not done. */
  throttled: number;
  /** 429 without a Retry-After, not done. */
  throttledBare: number;
  /** 500, not done. */
  errorBefore: number;
  /** The connection is closed and nothing was done. */
  closeBefore: number;
  /** The write is done; then the connection is closed without an answer. */
  closeAfterWrite: number;
  /** The write is done; then the answer is 500. */
  errorAfterWrite: number;
  /** A watch is refused with 410, as an HTTP status or as an ERROR event. */
  goneWatch: number;
  /** For each piece of a watch: cut it off, in the middle of a line if possible. */
  dropWatch: number;
  /** The next page of a list: 410. */
  goneContinue: number;
  /** A list: an earlier one instead. */
  staleList: number;
  /** Wait up to `delayMs` before the request goes on. */
  delay: number;
  /** Everything stands still for `freezeMs`, watches included. */
  freeze: number;
}

export type FaultName = keyof Faults;

export interface FaultProxyOptions {
  target: { url: string; ca: string; token: string };
  seed: number;
  faults?: Partial<Faults>;
  delayMs?: number;
  freezeMs?: number;
  /** Requests that never meet a fault; gets the method and the path with its query. */
  spare?: (method: string, path: string) => boolean;
  intercept?: Intercept;
  log?: (line: string) => void;
}

/** A request, as the client sent it. */
export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** Undefined unless it is JSON. */
  body: (KubeObject & { preconditions?: object }) | undefined;
}

/** Sees a request first. True: it has answered it, or broken it, itself. */
export type Intercept = (asked: Asked, response: ServerResponse) => boolean | Promise<boolean>;

export const noFaults: Faults = {
  conflict: 0,
  throttled: 0,
  throttledBare: 0,
  errorBefore: 0,
  closeBefore: 0,
  closeAfterWrite: 0,
  errorAfterWrite: 0,
  goneWatch: 0,
  dropWatch: 0,
  goneContinue: 0,
  staleList: 0,
  delay: 0,
  freeze: 0,
};

interface Snapshot {
  resourceVersion: string;
  body: Buffer;
}

/** Recorded lists a path; the oldest makes room. */
const snapshotsKept = 4;

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new FaultProxy(options);
  await proxy.listen();
  return proxy;
}

export class FaultProxy {
  /** May be changed at any time. */
  readonly faults: Faults;
  readonly counts: Record<FaultName, number> = { ...noFaults };
  /** Requests that reached the real API server, by method. */
  readonly forwarded: Record<string, number> = {};
  readonly #options: FaultProxyOptions;
  readonly #random: () => number;
  readonly #upstream: Pool;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch((error) => {
      this.#options.log?.(`proxy: ${request.method} ${request.url}: ${error}`);
      response.destroy();
    });
  });
  readonly #snapshots = new Map<string, Snapshot[]>();
  readonly #watches = new Set<ServerResponse>();
  #thaw: (() => void) | undefined;
  #frozen: Promise<void> = Promise.resolve();

  constructor(options: FaultProxyOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.faults = { ...noFaults, ...options.faults };
    this.#upstream = new Pool(options.target.url, {
      connect: { ca: options.target.ca },
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#server.keepAliveTimeout = 0;
    this.#server.requestTimeout = 0;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.thaw();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await this.#upstream.destroy();
    await closed;
  }

  set(faults: Partial<Faults>): void {
    Object.assign(this.faults, faults);
  }

  /** The API server is honest again. */
  calm(): void {
    Object.assign(this.faults, noFaults);
    this.thaw();
  }

  /** Nothing moves until thaw(): requests wait, watches go silent. */
  freeze(): void {
    if (this.#thaw !== undefined) return;
    this.#frozen = new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    this.#thaw?.();
    this.#thaw = undefined;
  }

  /** Watches that the API server has accepted. */
  get watching(): number {
    return this.#watches.size;
  }

  /** To all watches, as if the API server had sent it. */
  sendToWatches(text: string): void {
    for (const watch of this.#watches) watch.write(text);
  }

  endWatches(): void {
    for (const watch of this.#watches) watch.end();
  }

  /** Cuts all watches now. */
  dropWatches(): number {
    const { size } = this.#watches;
    for (const watch of this.#watches) watch.destroy();
    return size;
  }

  /** Remembers the whole list of a path (`/api/v1/nodes`) to serve it stale later. */
  async record(path: string): Promise<void> {
    const answer = await this.#upstream.request({
      method: 'GET',
      path,
      headers: { authorization: `Bearer ${this.#options.target.token}` },
    });
    const body = Buffer.from(await answer.body.arrayBuffer());
    if (answer.statusCode !== 200) return;
    // The list's own version stands before its items.
    const resourceVersion = /"resourceVersion":"(\d+)"/.exec(body.toString('utf8', 0, 512))?.[1];
    if (resourceVersion === undefined) return;
    const known = this.#snapshots.get(path) ?? [];
    if (known.some((snapshot) => snapshot.resourceVersion === resourceVersion)) return;
    known.push({ resourceVersion, body });
    if (known.length > snapshotsKept) known.shift();
    this.#snapshots.set(path, known);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? 'GET';
    const path = request.url ?? '/';
    const url = new URL(path, 'http://proxy');
    const isWatch = url.searchParams.get('watch') === 'true';
    const isWrite = method !== 'GET';
    const body = await readBody(request);
    const { pathname, searchParams } = url;
    const asked = { method, path: pathname, query: searchParams, headers: request.headers };
    if (await this.#options.intercept?.({ ...asked, body: parsed(body) }, response)) return;
    await this.#frozen;
    if (this.#options.spare?.(method, path)) {
      await this.#forward(request, response, body, isWatch, false);
      return;
    }
    await this.#standStill();
    if (isWatch) {
      if (this.#strikes('goneWatch')) sendGone(response, this.#random() < 0.5);
      else await this.#forward(request, response, body, true, true);
      return;
    }
    if (this.#strikes('throttled')) return sendStatus(response, 429, 'TooManyRequests', 1);
    if (this.#strikes('throttledBare')) return sendStatus(response, 429, 'TooManyRequests');
    if (this.#strikes('errorBefore')) return sendStatus(response, 500, 'InternalError');
    if (this.#strikes('closeBefore')) return void response.destroy();
    if (isWrite) {
      if (this.#strikes('conflict')) return sendStatus(response, 409, 'Conflict');
      const closes = this.#strikes('closeAfterWrite');
      const lies = !closes && this.#strikes('errorAfterWrite');
      if (!closes && !lies) return this.#forward(request, response, body, false, true);
      await this.#perform(request, body);
      if (closes) return void response.destroy();
      return sendStatus(response, 500, 'InternalError');
    }
    if (url.searchParams.has('continue')) {
      if (this.#strikes('goneContinue')) return sendStatus(response, 410, 'Expired');
    } else if (this.faults.staleList > 0 && isCollection(url.pathname)) {
      const snapshot = this.#pickStale(url);
      if (snapshot !== undefined && this.#strikes('staleList')) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(snapshot.body);
        return;
      }
      await this.record(snapshotKey(url));
    }
    await this.#forward(request, response, body, false, true);
  }

  async #standStill(): Promise<void> {
    const { delayMs = 200, freezeMs = 1_000 } = this.#options;
    if (this.#strikes('freeze')) {
      this.freeze();
      setTimeout(() => this.thaw(), freezeMs);
      await this.#frozen;
    }
    if (this.#strikes('delay')) {
      await new Promise((resolve) => setTimeout(resolve, this.#random() * delayMs));
    }
  }

  #strikes(fault: FaultName): boolean {
    const probability = this.faults[fault];
    if (probability <= 0 || this.#random() >= probability) return false;
    this.counts[fault] += 1;
    this.#options.log?.(`proxy: ${fault}`);
    return true;
  }

  #pickStale(url: URL): Snapshot | undefined {
    const known = this.#snapshots.get(snapshotKey(url)) ?? [];
    return known[Math.floor(this.#random() * known.length)];
  }

  #ask(request: IncomingMessage, body: Buffer | undefined, signal?: AbortSignal) {
    const headers: Record<string, string> = {
      authorization: `Bearer ${this.#options.target.token}`,
    };
    for (const name of ['content-type', 'accept', 'user-agent']) {
      const value = request.headers[name];
      if (typeof value === 'string') headers[name] = value;
    }
    const method = request.method ?? 'GET';
    this.forwarded[method] = (this.forwarded[method] ?? 0) + 1;
    return this.#upstream.request({
      method: method as 'GET',
      path: request.url ?? '/',
      headers,
      body: body ?? null,
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** To the end, whatever becomes of the one who asked. */
  async #perform(request: IncomingMessage, body: Buffer | undefined): Promise<void> {
    const answer = await this.#ask(request, body);
    await answer.body.dump();
  }

  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer | undefined,
    isWatch: boolean,
    mayDrop: boolean,
  ): Promise<void> {
    const gone = new AbortController();
    // A write goes on when the client hangs up, as on a real server.
    if (isWatch) response.on('close', () => gone.abort());
    const answer = await this.#ask(request, body, gone.signal);
    await this.#frozen;
    const headers: Record<string, string> = {};
    for (const name of ['content-type', 'content-length', 'retry-after']) {
      const value = answer.headers[name];
      if (typeof value === 'string') headers[name] = value;
    }
    response.writeHead(answer.statusCode, headers);
    if (isWatch) {
      response.flushHeaders();
      this.#watches.add(response);
    }
    try {
      for await (const piece of answer.body) {
        await this.#frozen;
        if (response.writableEnded) return;
        if (isWatch && mayDrop && this.#strikes('dropWatch')) {
          response.write(piece.subarray(0, Math.floor(this.#random() * piece.length)), () =>
            response.destroy(),
          );
          return;
        }
        response.write(piece);
      }
      response.end();
    } catch {
      response.destroy();
    } finally {
      this.#watches.delete(response);
    }
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return pieces.length === 0 ? undefined : Buffer.concat(pieces);
}

function parsed(body: Buffer | undefined): Asked['body'] {
  try {
    return body === undefined ? undefined : JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** Without paging: a recorded list is whole. */
function snapshotKey(url: URL): string {
  const query = new URLSearchParams();
  for (const name of ['labelSelector', 'fieldSelector']) {
    const value = url.searchParams.get(name);
    if (value !== null) query.set(name, value);
  }
  const text = query.toString();
  return text === '' ? url.pathname : `${url.pathname}?${text}`;
}

/** `/api/v1/nodes`, `/apis/G/V/things`, `/apis/G/V/namespaces/N/things`; not one object. */
function isCollection(path: string): boolean {
  return /^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)(\/namespaces\/[^/]+)?\/[^/]+$/.test(path);
}

export function sendStatus(
  response: ServerResponse,
  code: number,
  reason: string,
  retryAfterSeconds?: number,
): void {
  response.writeHead(code, {
    'content-type': 'application/json',
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
  response.end(JSON.stringify(statusBody(code, reason)));
}

function sendGone(response: ServerResponse, asEvent: boolean): void {
  if (!asEvent) {
    sendStatus(response, 410, 'Expired');
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify({ type: 'ERROR', object: statusBody(410, 'Expired') })}\n`);
}

function statusBody(code: number, reason: string): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: `injected ${code}`,
    reason,
    code,
  };
}
