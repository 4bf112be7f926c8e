import type { Log } from '../base/log.ts';
import { silentLog } from '../base/log.ts';
import type { KubeAccess } from './access.ts';
import { ApiError, outcomeOfStatus } from './api-error.ts';
import { Backoff, pause } from './backoff.ts';
import { type Counter, type Histogram, type Meter, silentMeter } from './meter.ts';
import { type KubeObject, type Resource, resourcePath } from './resource.ts';
import { type Answer, BrokenExchange, type Exchange, Transport } from './transport.ts';
import { type WatchEvent, WatchLines } from './watch-lines.ts';

/**
 * The room's essay. `kube` is the hands to the API server: it reads, watches
 * and writes what it is told, says exactly what became of it, and decides
 * nothing about pools or blocks.
 *
 *   access, kubeconfig, credentials   where the server is, and who we are
 *   transport                         one HTTP exchange: bytes out, bytes back
 *   client (here)                     the verbs; what may be tried again
 *   list-watch                        a copy of one resource that heals itself
 *   lease                             who leads, by local monotonic time
 *   keyed-queue                       one worker per key, back-off per key
 *   events, crds                      what people read; what must be registered
 *
 * The promise that everything else leans on is about failed writes: `refused`
 * means certainly not done, `unknown` means look before acting again. So a
 * write is never sent twice from in here. Two answers prove that it was not
 * done, and only after those it is sent again: 429, and 401 when there is a
 * new credential. Reads are repeated freely: after a connection that broke
 * (the server closes idle ones at the same moment as we use them) and after
 * 429 or 503 with a Retry-After.
 *
 * Not to be "optimised" away: watches have connections of their own; the
 * default deadline ends at the last byte, not at the first; no request asks
 * for gzip, which costs the API server more than a loopback or a rack gains.
 */
export interface KubeClientOptions {
  userAgent?: string;
  /** From the call to the last byte of the answer, for each attempt. */
  requestTimeoutMs?: number;
  /** Requests in flight at once; more wait their turn. Watches do not count. */
  connections?: number;
  metrics?: Meter;
  log?: Log;
  random?: () => number;
}

export interface RequestOptions {
  namespace?: string | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** How often to try again after a 429 (reads: also 503 with Retry-After). */
  retries?: number | undefined;
}

export interface WriteOptions extends RequestOptions {
  subresource?: string | undefined;
  fieldManager?: string | undefined;
}

export interface PatchOptions extends WriteOptions {
  type: 'merge' | 'json' | 'strategic' | 'apply';
  body: unknown;
  /** Only with `apply`: take fields over from other managers. */
  force?: boolean | undefined;
}

export interface DeleteOptions extends RequestOptions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
}

export interface Selection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection, RequestOptions {
  /** Objects a page. */
  limit?: number | undefined;
  /** Unset asks for the latest, which is what safety needs. */
  resourceVersion?: string | undefined;
}

export interface PageMeta {
  /** The moment of the whole list; the same on every page of one list. */
  resourceVersion: string;
  /** 0 says: forget the pages before, the list starts (again). */
  page: number;
  remaining: number | undefined;
}

export interface WatchOptions extends Selection {
  resourceVersion: string;
  timeoutSeconds?: number | undefined;
  /** Give the connection up when not a byte came for this long. */
  silenceMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called for every piece of bytes, before its events. */
  onHeard?: (() => void) | undefined;
}

type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

interface Call {
  verb: Verb;
  /** The resource's plural, for metrics. */
  label: string;
  exchange: Exchange;
  retries: number;
  signal: AbortSignal | undefined;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

const defaultRetries = 5;
/** A Retry-After beyond this is not waited for: the caller hears of it instead. */
const longestRetryAfterSeconds = 30;
const connectionResends = 2;
const listRestarts = 3;
const defaultFieldManager = 'cadastre';

export class KubeClient {
  readonly namespace: string;
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #log: Log;
  readonly #random: () => number;
  readonly #requests: Counter;
  readonly #seconds: Histogram;

  constructor(access: KubeAccess, options: KubeClientOptions = {}) {
    this.namespace = access.namespace;
    this.#transport = new Transport(access, {
      connections: options.connections ?? 64,
      userAgent: options.userAgent ?? 'cadastre',
    });
    this.#timeoutMs = options.requestTimeoutMs ?? 15_000;
    this.#log = options.log ?? silentLog;
    this.#random = options.random ?? Math.random;
    const metrics = options.metrics ?? silentMeter;
    this.#requests = metrics.counter(
      'cadastre_kube_requests_total',
      'Requests to the API server by verb, resource and answer (code 0: no answer).',
    );
    this.#seconds = metrics.histogram(
      'cadastre_kube_request_seconds',
      'Time from asking the API server to its whole answer, watches excluded.',
      [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    );
  }

  get<T = KubeObject>(resource: Resource, name: string, options: RequestOptions = {}): Promise<T> {
    const path = resourcePath(resource, { namespace: options.namespace, name });
    return this.#read<T>('get', resource, path, options);
  }

  /** The whole list at once: for small ones. */
  async list<T = KubeObject>(
    resource: Resource,
    options: ListOptions = {},
  ): Promise<{ items: T[]; resourceVersion: string }> {
    let items: T[] = [];
    const { resourceVersion } = await this.listPages<T>(resource, options, (page, meta) => {
      items = meta.page === 0 ? page : items.concat(page);
    });
    return { items, resourceVersion };
  }

  /**
   * A list page by page, so that nobody holds all raw objects at once. The
   * pages are one consistent moment. When that moment leaves the server's
   * memory between two pages (410), the list starts again with page 0; after
   * the third time it is asked for in one piece, which cannot expire.
   */
  async listPages<Raw = KubeObject>(
    resource: Resource,
    options: ListOptions,
    onPage: (items: Raw[], meta: PageMeta) => void,
  ): Promise<{ resourceVersion: string }> {
    const path = resourcePath(resource, { namespace: options.namespace });
    let limit = options.limit ?? 500;
    let continueToken = '';
    for (let page = 0, restarts = 0; ; ) {
      const query = selectionQuery(options);
      if (limit > 0) query.set('limit', String(limit));
      if (continueToken !== '') query.set('continue', continueToken);
      else if (options.resourceVersion !== undefined) {
        query.set('resourceVersion', options.resourceVersion);
      }
      let list: RawList<Raw>;
      try {
        list = await this.#read<RawList<Raw>>('list', resource, withQuery(path, query), options);
      } catch (error) {
        if (!(error instanceof ApiError && error.isGone && continueToken !== '')) throw error;
        restarts += 1;
        if (restarts >= listRestarts) limit = 0;
        continueToken = '';
        page = 0;
        continue;
      }
      const resourceVersion = list.metadata?.resourceVersion;
      if (typeof resourceVersion !== 'string') {
        throw new ApiError({
          request: `GET ${path}`,
          status: 200,
          detail: 'the answer is not a list with a resourceVersion',
        });
      }
      onPage(list.items ?? [], {
        resourceVersion,
        page,
        remaining: list.metadata?.remainingItemCount,
      });
      continueToken = list.metadata?.continue ?? '';
      if (continueToken === '') return { resourceVersion };
      page += 1;
    }
  }

  /**
   * Hands over events until the server ends the watch (resolves) or it fails
   * (rejects with an ApiError: an HTTP error, a broken or silent connection, a
   * torn line, an ERROR event). What the callback throws ends it too.
   */
  async watch(
    resource: Resource,
    options: WatchOptions,
    onEvent: (event: WatchEvent) => void,
  ): Promise<void> {
    const query = selectionQuery(options);
    query.set('watch', 'true');
    query.set('allowWatchBookmarks', 'true');
    query.set('resourceVersion', options.resourceVersion);
    if (options.timeoutSeconds !== undefined) {
      query.set('timeoutSeconds', String(options.timeoutSeconds));
    }
    const path = withQuery(resourcePath(resource, { namespace: options.namespace }), query);
    const lines = new WatchLines(`WATCH ${path}`, onEvent);
    await this.#perform({
      verb: 'watch',
      label: resource.plural,
      retries: 0,
      signal: options.signal,
      exchange: {
        method: 'GET',
        path,
        timeoutMs: 0,
        silenceMs: options.silenceMs,
        signal: options.signal,
        onData: (piece) => {
          options.onHeard?.();
          lines.push(piece);
        },
      },
    });
  }

  create<T = KubeObject>(
    resource: Resource,
    object: unknown,
    options: WriteOptions & { name?: string } = {},
  ): Promise<T> {
    return this.#write<T>('create', 'POST', resource, options.name, object, options);
  }

  /** Optimistic when the object carries `metadata.resourceVersion`: 409 if it changed. */
  replace<T = KubeObject>(
    resource: Resource,
    name: string,
    object: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#write<T>('update', 'PUT', resource, name, object, options);
  }

  patch<T = KubeObject>(resource: Resource, name: string, options: PatchOptions): Promise<T> {
    return this.#write<T>('patch', 'PATCH', resource, name, options.body, options);
  }

  /**
   * `gone` is false when finalizers hold the object back. The uid fences the
   * delete: a namesake that was born since is refused with 409.
   */
  async delete(
    resource: Resource,
    name: string,
    options: DeleteOptions = {},
  ): Promise<{ gone: boolean }> {
    const { uid, resourceVersion } = options;
    const body =
      uid === undefined && resourceVersion === undefined
        ? undefined
        : { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid, resourceVersion } };
    const answer = await this.#perform<Partial<KubeObject>>(
      this.#call('delete', resource, options, {
        method: 'DELETE',
        path: resourcePath(resource, { namespace: options.namespace, name }),
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), contentType: 'application/json' }),
      }),
    );
    return { gone: answer.kind === 'Status' || !answer.metadata?.finalizers?.length };
  }

  /** Any path: `/version`, `/readyz`. JSON is parsed, anything else comes as text. */
  rawGet(path: string, options: RequestOptions = {}): Promise<unknown> {
    return this.#perform({
      verb: 'get',
      label: 'raw',
      retries: options.retries ?? defaultRetries,
      signal: options.signal,
      exchange: {
        method: 'GET',
        path,
        timeoutMs: options.timeoutMs ?? this.#timeoutMs,
        signal: options.signal,
      },
    });
  }

  /** Breaks off whatever is still under way. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  #read<T>(verb: Verb, resource: Resource, path: string, options: RequestOptions): Promise<T> {
    return this.#perform<T>(this.#call(verb, resource, options, { method: 'GET', path }));
  }

  #write<T>(
    verb: Verb,
    method: 'POST' | 'PUT' | 'PATCH',
    resource: Resource,
    name: string | undefined,
    body: unknown,
    options: WriteOptions & Partial<PatchOptions>,
  ): Promise<T> {
    const query = new URLSearchParams({
      fieldManager: options.fieldManager ?? defaultFieldManager,
    });
    if (options.force) query.set('force', 'true');
    const path = resourcePath(resource, {
      namespace: options.namespace,
      name,
      subresource: options.subresource,
    });
    return this.#perform<T>(
      this.#call(verb, resource, options, {
        method,
        path: withQuery(path, query),
        body: typeof body === 'string' ? body : JSON.stringify(body),
        contentType: options.type === undefined ? 'application/json' : patchTypes[options.type],
      }),
    );
  }

  #call(
    verb: Verb,
    resource: Resource,
    options: RequestOptions,
    exchange: Omit<Exchange, 'timeoutMs'>,
  ): Call {
    return {
      verb,
      label: resource.plural,
      retries: options.retries ?? defaultRetries,
      signal: options.signal,
      exchange: {
        ...exchange,
        timeoutMs: options.timeoutMs ?? this.#timeoutMs,
        signal: options.signal,
      },
    };
  }

  async #perform<T>(call: Call): Promise<T> {
    const isRead = call.exchange.method === 'GET';
    let resends = isRead && call.verb !== 'watch' ? connectionResends : 0;
    let retries = call.retries;
    let backoff: Backoff | undefined;
    let renewed = false;
    for (;;) {
      const startedMs = performance.now();
      let answer: Answer;
      try {
        answer = await this.#transport.exchange(call.exchange);
      } catch (error) {
        if (!(error instanceof BrokenExchange)) throw error;
        this.#count(call, 0, startedMs);
        if (error.kind === 'connection' && error.sent && resends > 0) {
          resends -= 1;
          continue;
        }
        throw errorOfBroken(call, error);
      }
      this.#count(call, answer.status, startedMs);
      if (answer.status >= 200 && answer.status < 300) return parseAnswer<T>(call, answer);
      if (answer.status === 401 && !renewed) {
        renewed = true;
        if (await this.#transport.renew(answer.credential)) continue;
      }
      const error = errorOfAnswer(call, answer);
      const mayRetry =
        answer.status === 429 ||
        (isRead && answer.status === 503 && error.retryAfterSeconds !== undefined);
      const waitSeconds = error.retryAfterSeconds ?? 0;
      if (!mayRetry || retries <= 0 || waitSeconds > longestRetryAfterSeconds) throw error;
      retries -= 1;
      backoff ??= new Backoff({ baseMs: 100, capMs: 2_000, random: this.#random });
      const waitMs = waitSeconds * 1_000 + backoff.nextMs();
      this.#log.debug({ waitMs, status: answer.status }, `${requestOf(call)}: trying again`);
      await pause(waitMs, call.signal);
      if (call.signal?.aborted) throw error;
    }
  }

  #count(call: Call, status: number, startedMs: number): void {
    const { verb, label } = call;
    this.#requests.inc({ verb, resource: label, code: String(status) });
    if (verb !== 'watch') this.#seconds.observe((performance.now() - startedMs) / 1_000, { verb });
  }
}

interface RawList<Raw> {
  metadata?: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  items?: Raw[];
}

function selectionQuery(selection: Selection): URLSearchParams {
  const query = new URLSearchParams();
  if (selection.labelSelector) query.set('labelSelector', selection.labelSelector);
  if (selection.fieldSelector) query.set('fieldSelector', selection.fieldSelector);
  return query;
}

function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The request as people read it: the query says little and hides the path. */
function requestOf(call: Call): string {
  const verb = call.verb === 'watch' ? 'WATCH' : call.exchange.method;
  return `${verb} ${call.exchange.path.split('?', 1)[0]}`;
}

function parseAnswer<T>(call: Call, answer: Answer): T {
  if (call.verb === 'watch') return undefined as T;
  const text = answer.body.toString('utf8');
  const type = String(answer.headers['content-type'] ?? '');
  if (call.label === 'raw' && !type.includes('json')) return text as T;
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError({
      request: requestOf(call),
      status: answer.status,
      detail: `the answer is not JSON but ${type || 'untyped'}: ${text.slice(0, 80)}`,
      outcome: call.exchange.method === 'GET' ? undefined : 'unknown',
    });
  }
}

function errorOfAnswer(call: Call, answer: Answer): ApiError {
  const text = answer.body.toString('utf8');
  let status: { reason?: unknown; message?: unknown; details?: { retryAfterSeconds?: unknown } };
  try {
    status = JSON.parse(text) ?? {};
  } catch {
    // A proxy's or the API server's plain text, such as "404 page not found".
    status = { message: text.slice(0, 200).trim() };
  }
  const header = Number(answer.headers['retry-after'] ?? Number.NaN);
  const inBody = status.details?.retryAfterSeconds;
  return new ApiError({
    request: requestOf(call),
    status: answer.status,
    reason: typeof status.reason === 'string' ? status.reason : undefined,
    detail: typeof status.message === 'string' ? status.message : undefined,
    retryAfterSeconds:
      header >= 0 ? header : typeof inBody === 'number' && inBody > 0 ? inBody : undefined,
    outcome: call.exchange.method === 'GET' ? undefined : outcomeOfStatus(answer.status),
  });
}

function errorOfBroken(call: Call, broken: BrokenExchange): ApiError {
  const isWrite = call.exchange.method !== 'GET';
  return new ApiError({
    request: requestOf(call),
    status: 0,
    detail: broken.message,
    timedOut: broken.kind === 'timeout',
    outcome: !isWrite ? undefined : broken.sent ? 'unknown' : 'refused',
  });
}
