import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fixedCredential, type KubeAccess } from '../access.ts';

/**
 * A few hundred bytes of API server for this room's own tests: objects with
 * versions, paged lists, watches that resume or are too old, optimistic writes.
 * `intercept` sees every request first and may answer it, or break it, itself.
 */
export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: whatever the client sent.
  body: any;
}

export interface TinyObject {
  apiVersion?: string;
  kind?: string;
  metadata: Record<string, unknown> & { name: string; uid: string; resourceVersion: string };
  [field: string]: unknown;
}

interface LogEntry {
  version: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: TinyObject;
  collection: string;
}

export type Intercept = (asked: Asked, response: ServerResponse) => boolean | Promise<boolean>;

export class TinyApi {
  readonly asked: Asked[] = [];
  /** True from it: the request is dealt with. */
  intercept: Intercept | undefined;
  /** Collections that exist; undefined: all. */
  registered: Set<string> | undefined;
  version = 10;
  readonly #objects = new Map<string, TinyObject>();
  readonly #log: LogEntry[] = [];
  readonly #watches = new Set<{
    collection: string;
    name: string | null;
    response: ServerResponse;
  }>();
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });
  #compactedTo = 0;
  #serial = 0;

  static async start(): Promise<TinyApi> {
    const api = new TinyApi();
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  access(more: Partial<KubeAccess> = {}): KubeAccess {
    return {
      server: this.url,
      tls: {},
      credentials: fixedCredential(),
      namespace: 'default',
      origin: 'a test',
      ...more,
    };
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Objects of a collection path, such as `/api/v1/nodes`. */
  objects(collection: string): TinyObject[] {
    return [...this.#objects]
      .filter(([path]) => parent(path) === collection)
      .map(([, object]) => object)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  object(path: string): TinyObject | undefined {
    return this.#objects.get(path);
  }

  put(path: string, fields: Record<string, unknown> = {}): TinyObject {
    const known = this.#objects.get(path);
    this.version += 1;
    const { metadata, ...rest } = fields as { metadata?: object };
    const object: TinyObject = {
      ...rest,
      metadata: {
        ...metadata,
        name: path.slice(path.lastIndexOf('/') + 1),
        uid: known?.metadata.uid ?? `uid-${++this.#serial}`,
        resourceVersion: String(this.version),
      },
    };
    this.#objects.set(path, object);
    this.#tell({
      version: this.version,
      type: known === undefined ? 'ADDED' : 'MODIFIED',
      object,
      collection: parent(path),
    });
    return object;
  }

  delete(path: string): void {
    const known = this.#objects.get(path);
    if (known === undefined) return;
    this.version += 1;
    this.#objects.delete(path);
    const metadata = { ...known.metadata, resourceVersion: String(this.version) };
    this.#tell({
      version: this.version,
      type: 'DELETED',
      object: { ...known, metadata },
      collection: parent(path),
    });
  }

  /** Versions up to now can neither be watched from nor listed on. */
  compact(): void {
    this.version += 1;
    this.#compactedTo = this.version;
  }

  /** As an etcd restored from the backup of that version: what came later never was. */
  restore(version: number): void {
    const kept = this.#log.filter((entry) => entry.version <= version);
    this.#log.splice(0, this.#log.length, ...kept);
    this.#objects.clear();
    for (const { type, object, collection } of kept) {
      const path = `${collection}/${object.metadata.name}`;
      if (type === 'DELETED') this.#objects.delete(path);
      else this.#objects.set(path, object);
    }
    this.version = version;
    this.breakWatches();
  }

  bookmark(): void {
    const object = { metadata: { resourceVersion: String(this.version) } };
    for (const { response } of this.#watches) {
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
    }
  }

  get watching(): number {
    return this.#watches.size;
  }

  endWatches(): void {
    for (const { response } of this.#watches) response.end();
    this.#watches.clear();
  }

  breakWatches(): void {
    for (const { response } of this.#watches) response.destroy();
  }

  #tell(entry: LogEntry): void {
    this.#log.push(entry);
    for (const watch of this.#watches) {
      if (watch.collection !== entry.collection) continue;
      if (watch.name !== null && watch.name !== entry.object.metadata.name) continue;
      watch.response.write(eventLine(entry));
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://tiny');
    let text = '';
    for await (const piece of request) text += piece;
    const asked: Asked = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    this.asked.push(asked);
    if (await this.intercept?.(asked, response)) return;
    if (this.registered !== undefined && !this.#isRegistered(asked.path)) {
      response.writeHead(404, { 'content-type': 'text/plain' });
      response.end('404 page not found\n');
      return;
    }
    if (asked.query.get('watch') === 'true') {
      this.#watch(asked, response);
      return;
    }
    const { status, body } = asked.method === 'GET' ? this.#get(asked) : this.#write(asked);
    sendJson(response, status, body);
  }

  #isRegistered(path: string): boolean {
    return this.registered?.has(path) === true || this.registered?.has(parent(path)) === true;
  }

  #get({ path, query }: Asked): Reply {
    const object = this.#objects.get(path);
    if (object !== undefined) return { status: 200, body: object };
    const isOne = /\/(leases|events|customresourcedefinitions|things)\/[^/]+$/.test(path);
    if (isOne) return failure(404, 'NotFound');
    // A continue token is "version:offset"; the whole list at that version is
    // what a real server would still have in its history.
    const [version, offset] = (query.get('continue') ?? `${this.version}:0`).split(':').map(Number);
    if (version! < this.#compactedTo) return failure(410, 'Expired');
    const all = this.#at(path, version!);
    const limit = Number(query.get('limit') ?? 0) || all.length;
    const items = all.slice(offset, offset! + limit);
    const end = offset! + items.length;
    return {
      status: 200,
      body: {
        kind: 'List',
        metadata: {
          resourceVersion: String(version),
          ...(end < all.length ? { continue: `${version}:${end}` } : {}),
        },
        items,
      },
    };
  }

  /** The collection as it was at a version. */
  #at(collection: string, version: number): TinyObject[] {
    const objects = new Map<string, TinyObject>();
    for (const entry of this.#log) {
      if (entry.version > version || entry.collection !== collection) continue;
      if (entry.type === 'DELETED') objects.delete(entry.object.metadata.name);
      else objects.set(entry.object.metadata.name, entry.object);
    }
    return [...objects.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** A list as an earlier version would have been answered. */
  listAt(collection: string, version: number): object {
    return {
      kind: 'List',
      metadata: { resourceVersion: String(version) },
      items: this.#at(collection, version),
    };
  }

  #watch({ path, query }: Asked, response: ServerResponse): void {
    const from = Number(query.get('resourceVersion'));
    if (from < this.#compactedTo) {
      sendStatus(response, 410, 'Expired');
      return;
    }
    if (from > this.version) {
      // "Too large resource version", as the real one says after some seconds.
      sendStatus(response, 504, 'Timeout');
      return;
    }
    const name = /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1] ?? null;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    for (const entry of this.#log) {
      if (entry.version <= from || entry.collection !== path) continue;
      if (name !== null && name !== entry.object.metadata.name) continue;
      response.write(eventLine(entry));
    }
    const watch = { collection: path, name, response };
    this.#watches.add(watch);
    const seconds = Number(query.get('timeoutSeconds') ?? 3_600);
    const timer = setTimeout(() => response.end(), seconds * 1_000);
    response.on('close', () => {
      clearTimeout(timer);
      this.#watches.delete(watch);
    });
  }

  #write({ method, path, body }: Asked): Reply {
    if (method === 'POST') {
      const target = `${path}/${body.metadata.name}`;
      if (this.#objects.has(target)) return failure(409, 'AlreadyExists');
      return { status: 201, body: this.put(target, body) };
    }
    const known = this.#objects.get(path);
    if (known === undefined) return failure(404, 'NotFound');
    if (method === 'DELETE') {
      const { uid } = body?.preconditions ?? {};
      if (uid !== undefined && uid !== known.metadata.uid) {
        return failure(409, 'Conflict');
      }
      this.delete(path);
      return { status: 200, body: { kind: 'Status', status: 'Success' } };
    }
    if (method === 'PATCH') return { status: 200, body: this.put(path, { ...known, ...body }) };
    const wanted = body.metadata?.resourceVersion;
    if (wanted !== undefined && wanted !== known.metadata.resourceVersion) {
      return failure(409, 'Conflict');
    }
    return { status: 200, body: this.put(path, body) };
  }
}

function parent(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function eventLine(entry: LogEntry): string {
  return `${JSON.stringify({ type: entry.type, object: entry.object })}\n`;
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

interface Reply {
  status: number;
  body: unknown;
}

function failure(code: number, reason: string): Reply {
  const message = `scripted ${code}`;
  return {
    status: code,
    body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message },
  };
}

export function sendStatus(
  response: ServerResponse,
  code: number,
  reason: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(failure(code, reason).body));
}

/** Until the condition holds; says what was waited for when it never does. */
export async function until(
  what: string,
  condition: () => boolean,
  timeoutMs = 15_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
