import type { Pool as PoolOptions } from 'undici';
// Not the package's main entry, which loads all of fetch, ten megabytes of memory that nobody here uses.
import Pool from 'undici/lib/dispatcher/pool.js';
import type { Credential, KubeAccess } from './access.ts';
import { BrokenExchange, type Exchange, ExchangeHandler, type ServerAnswer } from './exchange.ts';

interface TransportOptions {
  connections: number;
  userAgent: string;
}

/**
 * Connections, TLS and the identity; nothing of Kubernetes.
 *
 * HTTP/1.1 with a connection for each request in flight. HTTP/2 is not faster
 * here (64 writes at once: the API server is the limit either way; undici's
 * HTTP/2 costs three times the processor time, node:http2 a third less), and
 * one broken connection would leave 64 writes with an unknown outcome instead
 * of one.
 *
 * It talks to undici's dispatcher directly: a body stays a list of buffers
 * until it is parsed once, with no streams in between.
 */
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

  exchange(request: Exchange): Promise<ServerAnswer> {
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

  #send(request: Exchange, credential: Credential): Promise<ServerAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#closed || request.signal?.aborted) {
        const why = this.#closed ? 'the client is closed' : 'the request was called off';
        reject(new BrokenExchange(why, { sent: false, answered: false, kind: 'aborted' }));
        return;
      }
      const { short, long } = this.#poolsFor(credential);
      const headers: Record<string, string> = { ...this.#headers };
      if (credential.authorization !== undefined) headers.authorization = credential.authorization;
      if (request.accept !== undefined) headers.accept = request.accept;
      if (request.contentType !== undefined) headers['content-type'] = request.contentType;
      const pool = request.isLong ? long : short;
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
    const options: PoolOptions.Options = {
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
