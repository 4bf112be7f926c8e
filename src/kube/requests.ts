import { type Log, silentLog } from '../base/log.ts';
import { type Counter, type Histogram, Metrics } from '../base/metrics.ts';
import type { KubeAccess } from './access.ts';
import { type Call, errorOfAnswer, errorOfBroken, parseAnswer, requestOf } from './answer.ts';
import { Backoff, pause } from './backoff.ts';
import { BrokenExchange, type ServerAnswer } from './exchange.ts';
import { Transport } from './transport.ts';

export interface RequestsOptions {
  userAgent?: string | undefined;
  /** Requests in flight at once; more wait their turn. Watches do not count. */
  connections?: number | undefined;
  metrics?: Metrics | undefined;
  log?: Log | undefined;
  random?: (() => number) | undefined;
}

/** A Retry-After beyond this is not waited for: the caller hears of it instead. */
const longestRetryAfterSeconds = 30;
const connectionResends = 2;

/**
 * One call from the first attempt to the last: what may be tried again is
 * decided here and nowhere else.
 *
 * A write is sent again only after an answer that proves it was not done: 429,
 * or 401 once there is a new credential. A read is also sent again after a
 * connection that broke (the server closes an idle one at the moment we use
 * it) and after 503 with Retry-After.
 */
export class Requests {
  readonly #transport: Transport;
  readonly #log: Log;
  readonly #random: () => number;
  readonly #total: Counter;
  readonly #seconds: Histogram;

  constructor(access: KubeAccess, options: RequestsOptions) {
    this.#transport = new Transport(access, {
      connections: options.connections ?? 64,
      userAgent: options.userAgent ?? 'cadastre',
    });
    this.#log = options.log ?? silentLog;
    this.#random = options.random ?? Math.random;
    const metrics = options.metrics ?? new Metrics();
    this.#total = metrics.counter(
      'cadastre_kube_requests_total',
      'Requests to the API server by verb, resource and answer (code 0: no answer).',
    );
    this.#seconds = metrics.histogram(
      'cadastre_kube_request_seconds',
      'Time from asking the API server to its whole answer, watches excluded.',
      [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    );
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async perform<T>(call: Call): Promise<T> {
    const isRead = call.exchange.method === 'GET';
    let resends = isRead && !call.exchange.isLong ? connectionResends : 0;
    let retries = call.retries;
    let backoff: Backoff | undefined;
    let renewed = false;
    for (;;) {
      const startedMs = performance.now();
      let answer: ServerAnswer;
      try {
        answer = await this.#transport.exchange(call.exchange);
      } catch (error) {
        if (!(error instanceof BrokenExchange)) throw error;
        this.#count(call, 0, startedMs);
        // What was handed over piece by piece cannot be taken back.
        const isClean = call.exchange.onData === undefined || !error.answered;
        if (error.kind === 'connection' && error.sent && isClean && resends > 0) {
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
      this.#log.debug?.(
        { retryInMs: waitMs, code: answer.status },
        `${requestOf(call)}: trying again`,
      );
      await pause(waitMs, call.signal);
      if (call.signal?.aborted) throw error;
    }
  }

  #count(call: Call, status: number, startedMs: number): void {
    const { verb, label } = call;
    this.#total.inc({ verb, resource: label, code: String(status) });
    if (verb !== 'watch') this.#seconds.observe((performance.now() - startedMs) / 1_000, { verb });
  }
}
