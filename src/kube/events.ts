import { type Clock, systemClock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import { type Log, silentLog } from '../base/log.ts';
import { type Counter, Metrics } from '../base/metrics.ts';
import { printable } from '../base/printable.ts';
import { timeText } from '../base/time-text.ts';
import type { KubeClient } from './client.ts';
import { ifFound } from './get-if-there.ts';
import { KeyedQueue } from './keyed-queue.ts';
import type { Resource } from './resource.ts';

export const eventResource: Resource = {
  group: '',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};

interface EventSubject {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  namespace?: string | undefined;
}

interface EventNews {
  object: EventSubject;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

export interface EventRecorderOptions {
  client: KubeClient;
  /** `cadastre-operator`. */
  component: string;
  /** Which replica. */
  instance?: string | undefined;
  clock?: Clock | undefined;
  log?: Log | undefined;
  metrics?: Metrics | undefined;
  /** Writes about one object: so many at once, then one every so often. */
  burst?: number | undefined;
  refillSeconds?: number | undefined;
}

interface Series {
  news: EventNews;
  count: number;
  written: number;
  firstMs: number;
  lastMs: number;
  /** The Event's name on the server, once created. */
  name: string | undefined;
}

/** Remembered series and objects; the oldest are forgotten first. */
const memory = 4_096;
/** The API server keeps Events for an hour; an older one is written anew. */
const seriesMs = 50 * 60_000;

/**
 * Events for people who read `kubectl describe`. The same news about the same
 * object is one Event with a count. Best effort throughout: few writes at a
 * time so that they never crowd out real work, a limit per object, and what
 * fails is logged and counted, never thrown. Events about cluster-scoped
 * objects live in the namespace `default`, as the API server demands.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #results: Counter;
  readonly #queue: KeyedQueue;
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  #serial = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#results = (options.metrics ?? new Metrics()).counter(
      'cadastre_events_total',
      'Events by what became of them: written, limited, failed.',
    );
    this.#queue = new KeyedQueue({
      name: 'events',
      concurrency: 2,
      work: (key) => this.#write(key),
      clock: this.#clock,
      log: this.#log,
    });
  }

  record(news: EventNews): void {
    const key = JSON.stringify([news.object.uid, news.object.name, news.reason, news.message]);
    const nowMs = this.#clock.wallMs();
    let series = this.#series.get(key);
    this.#series.delete(key);
    if (series === undefined || nowMs - series.firstMs > seriesMs) {
      series = { news, count: 0, written: 0, firstMs: nowMs, lastMs: nowMs, name: undefined };
    }
    series.count += 1;
    series.lastMs = nowMs;
    this.#series.set(key, series);
    forgetOldest(this.#series);
    const mayWrite =
      this.#queue.depth < memory && this.#takeToken(news.object.uid || news.object.name);
    if (mayWrite) this.#queue.add(key);
    else this.#results.inc({ result: 'limited', reason: news.reason });
  }

  /** Events that wait to be written. */
  get pending(): number {
    return this.#queue.depth;
  }

  /** Resolves when everything recorded so far has been tried. */
  flush(): Promise<void> {
    return this.#queue.idle();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #takeToken(subject: string): boolean {
    const { burst = 25, refillSeconds = 300 } = this.#options;
    const nowMs = this.#clock.monotonicMs();
    const last = this.#buckets.get(subject) ?? { tokens: burst, atMs: nowMs };
    const refilled = (nowMs - last.atMs) / (refillSeconds * 1_000);
    const tokens = Math.min(burst, last.tokens + refilled);
    this.#buckets.delete(subject);
    this.#buckets.set(subject, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: nowMs });
    forgetOldest(this.#buckets);
    return tokens >= 1;
  }

  async #write(key: string): Promise<void> {
    const series = this.#series.get(key);
    if (series === undefined || series.written === series.count) return;
    const { count } = series;
    try {
      await this.#createOrCount(series, count);
      series.written = count;
      this.#results.inc({ result: 'written', reason: series.news.reason });
    } catch (error) {
      this.#results.inc({ result: 'failed', reason: series.news.reason });
      this.#log.warn(
        {
          reason: series.news.reason,
          object: series.news.object.name,
          error: describeError(error),
        },
        'an Event could not be written',
      );
    }
  }

  async #createOrCount(series: Series, count: number): Promise<void> {
    const { client } = this.#options;
    const namespace = series.news.object.namespace ?? 'default';
    if (series.name !== undefined) {
      const body = { count, lastTimestamp: timeText(series.lastMs) };
      const patch = { type: 'merge', body, namespace } as const;
      if (await ifFound(client.patch(eventResource, series.name, patch))) return;
    }
    const name = this.#nameFor(series.news.object.name);
    await client.create(eventResource, this.#bodyOf(series, count, name, namespace), { namespace });
    series.name = name;
  }

  /** client-go's form: the object's name and something unique. */
  #nameFor(object: string): string {
    this.#serial += 1;
    const unique = `${Math.floor(this.#clock.wallMs() * 1_000).toString(16)}${this.#serial.toString(16)}`;
    return `${object.slice(0, 253 - unique.length - 1)}.${unique}`;
  }

  #bodyOf(series: Series, count: number, name: string, namespace: string): object {
    const { object, type, reason, message } = series.news;
    const { component, instance = '' } = this.#options;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: { ...object },
      type,
      reason,
      // The API's own limit. Old kubectls print a message as it is.
      message: printable(message).slice(0, 1_024),
      source: { component, host: instance },
      reportingComponent: component,
      reportingInstance: instance,
      firstTimestamp: timeText(series.firstMs),
      lastTimestamp: timeText(series.lastMs),
      count,
    };
  }
}

function forgetOldest(map: Map<string, unknown>): void {
  if (map.size <= memory) return;
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
