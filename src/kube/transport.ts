import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import { describeError } from '../base/errors.ts';
import type { Credential, KubeAccess } from './access.ts';

/**
 * One HTTP exchange at a time: connections, TLS and the identity, nothing of
 * Kubernetes. HTTP/1.1 with a connection per request in flight, because on the
 * loopback of two cores that is what the API server answers fastest (figures
 * in client.ts). It talks to undici's dispatcher directly: the body stays a
 * list of buffers until it is parsed once, no streams in between.
 */
export interface Exchange {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: string | Buffer | undefined;
  contentType?: string | undefined;
  /** From hand-over to the last byte of the answer; 0 for none. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Takes the pieces of a 200's body as they come (a watch); else they are collected. */
  onData?: ((piece: Buffer) => void) | undefined;
  /** Abort when nothing came for this long (a watch). */
  silenceMs?: number | undefined;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Who asked, to tell the source if the answer is a 401. */
  credential: Credential;
}

/** No complete answer came. */
export class BrokenExchange extends Error {
  /** False: not a byte of the request left this process. */
  readonly sent: boolean;
  /** An answer had begun when it broke. */
  readonly answered: boolean;
  readonly kind: 'connection' | 'timeout' | 'aborted';

  constructor(message: string, how: Pick<BrokenExchange, 'sent' | 'answered' | 'kind'>) {
    super(message);
    this.name = 'BrokenExchange';
    this.sent = how.sent;
    this.answered = how.answered;
    this.kind = how.kind;
  }
}

export interface TransportOptions {
  connections: number;
  userAgent: string;
}

export class Transport {
  readonly #access: KubeAccess;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #options: TransportOptions;
  readonly #headers: Record<string, string>;
  #pools: { credential: Credential; short: Pool; long: Pool } | undefined;
  #closed = false;

  constructor(access: KubeAccess, options: TransportOptions) {
    const url = new URL(access.server);
    this.#access = access;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/$/, '');
    this.#options = options;
    this.#headers = {
      accept: 'application/json',
      'user-agent': options.userAgent,
      ...access.headers,
    };
  }

  exchange(request: Exchange): Promise<Answer> {
    const credential = this.#access.credentials.current();
    return credential instanceof Promise
      ? credential.then((resolved) => this.#send(request, resolved))
      : this.#send(request, credential);
  }

  /** True when the rejected identity was replaced by another one worth trying. */
  renew(rejected: Credential): Promise<boolean> {
    return this.#access.credentials.renew(rejected);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const pools = this.#pools;
    this.#pools = undefined;
    await Promise.all([pools?.short.destroy(), pools?.long.destroy()]);
  }

  #send(request: Exchange, credential: Credential): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closed || request.signal?.aborted) {
        const why = this.#closed ? 'the client is closed' : 'the request was called off';
        reject(new BrokenExchange(why, { sent: false, answered: false, kind: 'aborted' }));
        return;
      }
      const { short, long } = this.#poolsFor(credential);
      const headers: Record<string, string> = { ...this.#headers };
      if (credential.authorization !== undefined) headers.authorization = credential.authorization;
      if (request.contentType !== undefined) headers['content-type'] = request.contentType;
      const pool = request.onData === undefined ? short : long;
      pool.dispatch(
        {
          path: this.#basePath + request.path,
          method: request.method,
          body: request.body ?? null,
          headers,
        },
        new ExchangeHandler(request, credential, resolve, reject),
      );
    });
  }

  /**
   * Connections carry the client certificate, so a new certificate needs new
   * ones; a new token does not. Watches have their own pool: they would hold
   * connections that short requests wait for.
   */
  #poolsFor(credential: Credential): { short: Pool; long: Pool } {
    const old = this.#pools;
    if (old !== undefined && sameCertificate(old.credential, credential)) return old;
    const { tls } = this.#access;
    const options: Pool.Options = {
      pipelining: 1,
      // The deadlines are ours (ExchangeHandler); undici's would count differently.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Give up idle connections long before the API server (90 s) or a load
      // balancer does, so that a write hardly ever meets a closed one.
      keepAliveTimeout: 10_000,
      connect: {
        timeout: 10_000,
        // A peer that vanished is noticed by TCP in about 15 + 10 s.
        keepAlive: true,
        keepAliveInitialDelay: 15_000,
        rejectUnauthorized: !tls.insecureSkipVerify,
        ...(tls.ca === undefined ? {} : { ca: tls.ca }),
        ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
        ...(credential.cert === undefined ? {} : { cert: credential.cert }),
        ...(credential.key === undefined ? {} : { key: credential.key }),
      },
    };
    const pools = {
      credential,
      short: new Pool(this.#origin, { ...options, connections: this.#options.connections }),
      long: new Pool(this.#origin, options),
    };
    this.#pools = pools;
    // What runs on the old connections may finish there.
    old?.short.close().catch(() => {});
    old?.long.close().catch(() => {});
    return pools;
  }
}

function sameCertificate(a: Credential, b: Credential): boolean {
  return a === b || (a.cert === b.cert && a.key === b.key);
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #request: Exchange;
  readonly #credential: Credential;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort: (() => void) | undefined;
  readonly #deadline: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #settled = false;

  constructor(
    request: Exchange,
    credential: Credential,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#request = request;
    this.#credential = credential;
    this.#resolve = resolve;
    this.#reject = reject;
    if (request.timeoutMs > 0) {
      this.#deadline = setTimeout(
        () => this.#break('timeout', `no complete answer within ${request.timeoutMs} ms`),
        request.timeoutMs,
      );
    }
    if (request.silenceMs !== undefined) {
      this.#silence = setTimeout(
        () => this.#break('timeout', `nothing was heard for ${request.silenceMs} ms`),
        request.silenceMs,
      );
    }
    if (request.signal !== undefined) {
      this.#onAbort = () => this.#break('aborted', 'the request was called off');
      request.signal.addEventListener('abort', this.#onAbort, { once: true });
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while it waited for a connection: it must not be sent any more.
    if (this.#settled) {
      controller.abort(new Error('given up before it was sent'));
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#status = status;
    this.#headers = headers;
    this.#silence?.refresh();
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#settled) return;
    this.#silence?.refresh();
    if (this.#request.onData === undefined || this.#status !== 200) {
      this.#pieces.push(piece);
      return;
    }
    try {
      this.#request.onData(piece);
    } catch (error) {
      this.#finish();
      this.#reject(error);
      this.#controller?.abort(new Error('the reader stopped'));
    }
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#finish();
    const pieces = this.#pieces;
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces),
      credential: this.#credential,
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#break('connection', describeError(error));
  }

  #break(kind: BrokenExchange['kind'], why: string): void {
    if (this.#settled) return;
    this.#finish();
    const sent = this.#controller !== undefined;
    this.#reject(new BrokenExchange(why, { sent, answered: this.#status !== 0, kind }));
    if (kind !== 'connection') this.#controller?.abort(new Error(why));
  }

  #finish(): void {
    this.#settled = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#silence);
    if (this.#onAbort !== undefined) {
      this.#request.signal?.removeEventListener('abort', this.#onAbort);
    }
  }
}
