import type { KubeAccess } from './access.ts';
import type { Call, Verb } from './answer.ts';
import type { Exchange } from './exchange.ts';
import { type ListReader, readList } from './list-pages.ts';
import { acceptProtobuf, type Decode, isProtobuf } from './protobuf/envelope.ts';
import { WatchFrames } from './protobuf/watch-frames.ts';
import { Requests, type RequestsOptions } from './requests.ts';
import { type Resource, resourcePath, type StoredObject } from './resource.ts';
import { type WatchEvent, WatchLines } from './watch-lines.ts';

/**
 * The room's essay. `kube` is the client of the API server: it reads, watches and
 * writes as its caller asks, reports exactly what became of a write, and decides
 * nothing about pools or blocks.
 *
 *   access, kubeconfig, credentials   where the server is, and who we are
 *   transport                         one HTTP exchange: bytes out, bytes back
 *   requests, answer                  what may be tried again; what an answer means
 *   client (here)                     the verbs
 *   list-watch, object-cache          a cache of one resource that heals itself
 *   store-check, watch-times          a store that went back in time; a watch that is silent
 *   lease                             who leads, by local monotonic time
 *   keyed-queue                       one worker per key, back-off per key
 *   events, crds                      what people read; what must be registered
 *
 * The promise that everything else leans on is about failed writes: `refused`
 * means certainly not done, `unknown` means look before acting again. So a
 * write is never sent twice from in here, unless the answer proves that it
 * was not done (requests.ts).
 *
 * Not to be "optimised" away: watches have connections of their own; the
 * default deadline ends at the last byte, not at the first; no request asks
 * for gzip, which costs the API server more than a loopback or a rack gains.
 */
export interface KubeClientOptions extends RequestsOptions {
  /** From the call to the last byte of the answer, for each attempt. */
  requestTimeoutMs?: number | undefined;
}

export interface RequestOptions {
  /** Ask for protobuf, which this reads; servers and kinds without it answer in JSON. */
  decode?: Decode<StoredObject> | undefined;
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

export interface WatchOptions extends Selection {
  decode?: Decode<StoredObject> | undefined;
  resourceVersion: string;
  timeoutSeconds?: number | undefined;
  /** Give the connection up when not a byte came for this long. */
  silenceMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called for every piece of bytes, before its events. */
  onReceived?: (() => void) | undefined;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

const defaultRetries = 5;
const defaultFieldManager = 'cadastre';

export class KubeClient {
  readonly namespace: string;
  readonly #requests: Requests;
  readonly #timeoutMs: number;

  constructor(access: KubeAccess, options: KubeClientOptions = {}) {
    this.namespace = access.namespace;
    this.#requests = new Requests(access, options);
    this.#timeoutMs = options.requestTimeoutMs ?? 15_000;
  }

  get<T = StoredObject>(
    resource: Resource,
    name: string,
    options: RequestOptions = {},
  ): Promise<T> {
    const path = resourcePath(resource, { namespace: options.namespace, name });
    return this.#read<T>('get', resource, path, options);
  }

  /** The whole list at once: for small ones. */
  async list<T = StoredObject>(
    resource: Resource,
    options: ListOptions = {},
  ): Promise<{ items: T[]; resourceVersion: string }> {
    let items: T[] = [];
    const { resourceVersion } = await this.listEach<T>(resource, options, {
      onStart: () => {
        items = [];
      },
      onItem: (item) => items.push(item),
    });
    return { items, resourceVersion };
  }

  /**
   * A list object by object, as the bytes come in: it costs the memory of one
   * object. Read in pages, yet all of one moment.
   */
  listEach<Raw = StoredObject>(
    resource: Resource,
    options: ListOptions,
    reader: ListReader<Raw>,
  ): Promise<{ resourceVersion: string }> {
    const path = resourcePath(resource, { namespace: options.namespace });
    return readList<Raw>(
      (page, sink) => {
        const query = selectionQuery(options);
        for (const [name, value] of Object.entries(page)) query.set(name, value);
        const exchange = { method: 'GET', path: withQuery(path, query), ...sink } as const;
        return this.#requests.perform(this.#call('list', resource, options, exchange));
      },
      { ...options, decode: options.decode as Decode<Raw> | undefined },
      reader,
    );
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
    const { decode } = options;
    let events: WatchLines | WatchFrames<StoredObject> = new WatchLines(`WATCH ${path}`, onEvent);
    await this.#requests.perform({
      verb: 'watch',
      label: resource.plural,
      retries: 0,
      signal: options.signal,
      exchange: {
        method: 'GET',
        path,
        isLong: true,
        accept: decode && acceptProtobuf,
        onStart: (contentType) => {
          if (decode === undefined || !isProtobuf(contentType)) return;
          events = new WatchFrames(`WATCH ${path}`, decode, onEvent);
        },
        timeoutMs: 0,
        silenceMs: options.silenceMs,
        signal: options.signal,
        onData: (piece) => {
          options.onReceived?.();
          events.push(piece);
        },
      },
    });
  }

  create<T = StoredObject>(
    resource: Resource,
    object: unknown,
    options: WriteOptions & { name?: string } = {},
  ): Promise<T> {
    return this.#write<T>('create', 'POST', resource, options.name, object, options);
  }

  /** Optimistic when the object carries `metadata.resourceVersion`: 409 if it changed. */
  replace<T = StoredObject>(
    resource: Resource,
    name: string,
    object: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#write<T>('update', 'PUT', resource, name, object, options);
  }

  patch<T = StoredObject>(resource: Resource, name: string, options: PatchOptions): Promise<T> {
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
    const answer = await this.#requests.perform<Partial<StoredObject>>(
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
    return this.#requests.perform({
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
    return this.#requests.close();
  }

  #read<T>(verb: Verb, resource: Resource, path: string, options: RequestOptions): Promise<T> {
    return this.#requests.perform<T>(this.#call(verb, resource, options, { method: 'GET', path }));
  }

  #write<T>(
    verb: Verb,
    method: 'POST' | 'PUT' | 'PATCH',
    resource: Resource,
    name: string | undefined,
    body: unknown,
    options: WriteOptions & Partial<PatchOptions>,
  ): Promise<T> {
    const manager = encodeURIComponent(options.fieldManager ?? defaultFieldManager);
    const query = `fieldManager=${manager}${options.force ? '&force=true' : ''}`;
    const path = resourcePath(resource, {
      namespace: options.namespace,
      name,
      subresource: options.subresource,
    });
    return this.#requests.perform<T>(
      this.#call(verb, resource, options, {
        method,
        path: `${path}?${query}`,
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
      decode: options.decode,
      exchange: {
        accept: options.decode && acceptProtobuf,
        ...exchange,
        timeoutMs: options.timeoutMs ?? this.#timeoutMs,
        signal: options.signal,
      },
    };
  }
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
