import type { Clock } from '../base/clock.ts';
import { systemClock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import { type Log, silentLog } from '../base/log.ts';
import { type Counter, Metrics } from '../base/metrics.ts';
import { ApiError } from './api-error.ts';
import { Backoff, pause } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { FollowLog } from './follow-log.ts';
import { type CacheHandler, type Kept, type NewestObject, ObjectCache } from './object-cache.ts';
import { onAbort } from './on-abort.ts';
import type { Decode } from './protobuf/envelope.ts';
import { objectKey, type Resource, resourceName, type StoredObject } from './resource.ts';
import { isOlder } from './resource-version.ts';
import { checkedObjects, checkStore } from './store-check.ts';
import type { WatchEvent } from './watch-lines.ts';
import {
  silenceGraceMs,
  spreadWatchSeconds,
  trialWatchSeconds,
  usualWatchSeconds,
} from './watch-times.ts';

/**
 * A cache of one resource, kept in step with the API server by a list and a watch.
 *
 * One loop, one thing at a time: list in pages, then watch from the list's
 * version, and from then on watch again from the last version received. It lists
 * again only when the server has forgotten that version (410), when watching
 * keeps failing, when the server no longer has what was seen (store-check), or when
 * somebody asks (`relist`). Because lists and watches
 * never overlap, their order is never in question; the third source, answers
 * to our own writes, is put in its place by the rules in object-cache.
 *
 * What it lives with: servers that restart, pages that expire in the middle,
 * lines torn off, connections that stay open and send nothing, watches that end
 * at once for ever, a resource that is not registered yet, lists from a stale
 * replica, an etcd restored from a backup. It never gives up and never throws; it
 * logs what is wrong once, not every time, and `silentMs` (also a metric) is how old
 * the cache may be.
 *
 * Not to be "optimised" away: lists ask for the latest version (no
 * resourceVersion), because a list from a server's cache may predate our own
 * writes; a stale list is refused whole, because applying half of one is
 * how deleted objects come back.
 */
export interface ListWatchOptions<T extends Kept> {
  client: KubeClient;
  resource: Resource;
  namespace?: string | undefined;
  /** With a selector `onDelete` also means: it does not match any more. */
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** Reads objects from protobuf, where the server has it for them. */
  decode?: Decode<StoredObject> | undefined;
  /** Keeps only the fields that are needed; the raw object is dropped. */
  keep: (raw: unknown) => T;
  /** Called in order, synchronously, after the cache has changed. */
  handler?: CacheHandler<T> | undefined;
  /**
   * The store has gone back in time (a restored backup) and the cache now holds what the
   * new list has. `lost`: what was held before and is absent now, has another uid or is
   * in an older version. Called once each time, after the handler.
   */
  onStartedOver?: ((lost: readonly T[]) => void) | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  log?: Log | undefined;
  metrics?: Metrics | undefined;
  pageSize?: number | undefined;
  /** How long one watch lasts, on average. */
  watchSeconds?: number | undefined;
  /** Beyond the moment at which the server itself should have ended the watch. */
  silenceGraceMs?: number | undefined;
  backoff?: { baseMs: number; capMs: number } | undefined;
  /** How long lists that are older than what was seen are taken for a stale replica's. */
  staleGraceMs?: number | undefined;
}

/**
 * A proxy or a replica that is behind catches up within seconds. Lists that stay
 * old for this long come from an etcd that was restored from a backup: then the
 * server's own count was set back, and what it has now is the truth again.
 */
const usualStaleGraceMs = 60_000;
/** A watch that lasted this long was a good one, even if nothing happened. */
const goodWatchMs = 1_000;
/** What ends so much before its time was ended by something else: a server that restarts. */
const earlyMs = 750;
const failuresBeforeRelist = 3;
/** While a resource is not registered: often enough that a start is not held up. */
const unregisteredCapMs = 1_000;

interface Waiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

class StaleList extends Error {
  constructor(version: string, known: string) {
    super(`the list is of version ${version}, older than ${known}, which was seen already`);
  }
}

class StaleEvent extends Error {
  constructor(version: string, known: string) {
    super(`the watch sent version ${version}, older than ${known}, which was seen already`);
  }
}

export class ListWatch<T extends Kept> {
  /** Resolves after the first whole list; rejects if stopped before. */
  readonly synced: Promise<void>;
  readonly #options: ListWatchOptions<T>;
  readonly #name: string;
  readonly #cache: ObjectCache<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: Log;
  readonly #followLog: FollowLog;
  readonly #lists: Counter;
  readonly #events: Counter;
  readonly #troubles: Counter;
  readonly #backoff: Backoff;
  readonly #syncedWaiter: Waiter;
  #hasSynced = false;
  #refusal: 'not registered' | 'forbidden' | undefined;
  #waiters: Waiter[] = [];
  #interrupt = new AbortController();
  #receivedMs: number;
  /** Since when every list was older than what is known. */
  #staleSinceMs: number | undefined;
  #failures = 0;
  /** The last watch broke, ended early or sent nothing: what the server has is to be checked. */
  #isDoubtful = false;
  /** What was seen is not there any more: the next list, not older than this, replaces everything. */
  #startOver: { how: 'yes' | 'if older'; from: string } | undefined;
  /** It is gone, and the watch has to say so: or it was lost, as by a restored backup. */
  #owedDeletion: NewestObject | undefined;
  /** Watches in a row that sent nothing, not even their end. */
  #silentWatches = 0;
  #isStarted = false;

  constructor(options: ListWatchOptions<T>) {
    this.#options = options;
    this.#name = resourceName(options.resource);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#log = options.log ?? silentLog;
    this.#followLog = new FollowLog(this.#log, this.#name);
    const metrics = options.metrics ?? new Metrics();
    this.#lists = metrics.counter(
      'cadastre_kube_lists_total',
      'Whole lists read, by resource and result (applied, stale, failed).',
    );
    this.#events = metrics.counter(
      'cadastre_kube_watch_events_total',
      'Watch events received, by resource and type.',
    );
    this.#troubles = metrics.counter(
      'cadastre_kube_bad_objects_total',
      'Objects that could not be read or handled, by resource.',
    );
    const silent = metrics.gauge(
      'cadastre_kube_silent_seconds',
      'Since when nothing was received from the API server about a resource.',
    );
    // A kind that is not followed, as CiliumNodes where Cilium is not, is not silent.
    metrics.onCollect(() => {
      if (this.#isStarted) silent.set(this.silentMs() / 1_000, { resource: this.#name });
    });
    const { baseMs, capMs } = options.backoff ?? { baseMs: 100, capMs: 10_000 };
    this.#backoff = new Backoff({ baseMs, capMs, random: this.#random });
    this.#cache = new ObjectCache({
      keep: options.keep,
      handler: options.handler,
      onBadObject: (key, error) => {
        this.#troubles.inc({ resource: this.#name });
        this.#log.error(
          { resource: this.#name, object: key, error: describeError(error) },
          'skipped an object that could not be read or handled',
        );
      },
    });
    this.#receivedMs = this.#clock.monotonicMs();
    let syncedWaiter: Waiter | undefined;
    this.synced = new Promise((resolve, reject) => {
      syncedWaiter = { resolve, reject };
    });
    this.synced.catch(() => {});
    this.#syncedWaiter = syncedWaiter!;
  }

  /** `nodeblocks.cadastre.dev`. */
  get name(): string {
    return this.#name;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Why there is nothing to follow, as long as the server says so: no such resource, or not for us. */
  get refusal(): 'not registered' | 'forbidden' | undefined {
    return this.#refusal;
  }

  get size(): number {
    return this.#cache.size;
  }

  /** By `name`, or `namespace/name`. */
  get(key: string): T | undefined {
    return this.#cache.get(key);
  }

  values(): IterableIterator<T> {
    return this.#cache.values();
  }

  /** Since when nothing was received from the server, not even a bookmark. */
  silentMs(): number {
    return this.#clock.monotonicMs() - this.#receivedMs;
  }

  /** Runs until the signal aborts. */
  start(signal: AbortSignal): void {
    this.#isStarted = true;
    const forget = onAbort(signal, () => this.#interrupt.abort());
    this.#run(signal).finally(() => {
      forget();
      const stopped = new Error(`the list-watch of ${this.#name} was stopped`);
      for (const waiter of [this.#syncedWaiter, ...this.#waiters.splice(0)]) waiter.reject(stopped);
    });
  }

  /**
   * Resolves when a list that began after this call has been applied: from then
   * on the cache holds everything that was written before the call, by anybody.
   */
  relist(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#interrupt.abort();
    });
  }

  /** The answer to one of our own requests; ignored when older than what is held. */
  put(raw: unknown): void {
    this.#cache.put(raw as StoredObject);
  }

  /** One of our own deletes was answered: gone. */
  remove(key: string, uid: string): void {
    this.#cache.remove(key, uid);
  }

  async #run(signal: AbortSignal): Promise<void> {
    let mustList = true;
    while (!signal.aborted) {
      // Both a stop and a relist() interrupt whatever is going on.
      this.#interrupt = new AbortController();
      const interrupt = this.#interrupt.signal;
      try {
        if (this.#isDoubtful && this.#hasSynced) {
          mustList = (await this.#mustListAgain(interrupt)) || mustList;
        } else if (mustList || this.#waiters.length > 0) {
          await this.#list(signal);
          mustList = false;
        } else {
          await this.#watch(interrupt);
          mustList = this.#isDeletionOwed();
        }
      } catch (error) {
        if (signal.aborted || interrupt.aborted) continue;
        this.#isDoubtful = true;
        mustList ||= this.#mustListAfter(error);
        if (error instanceof ApiError) this.#refusal = refusalOf(error);
        this.#followLog.fails(error);
        await pause(this.#pauseAfter(error), interrupt);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, namespace, labelSelector, fieldSelector, decode } = this.#options;
    const waiters = this.#waiters.splice(0);
    try {
      await client.listEach(
        resource,
        { namespace, labelSelector, fieldSelector, decode, limit: this.#options.pageSize, signal },
        {
          onStart: (version) => {
            this.#beginList(version);
          },
          onItem: (item) => this.#cache.putListed(item),
        },
      );
    } catch (error) {
      this.#waiters.unshift(...waiters);
      const result = error instanceof StaleList ? 'stale' : 'failed';
      this.#lists.inc({ resource: this.#name, result });
      throw error;
    }
    const lost = this.#cache.endList();
    this.#staleSinceMs = undefined;
    this.#startOver = undefined;
    this.#silentWatches = 0;
    this.#lists.inc({ resource: this.#name, result: 'applied' });
    this.#hasSynced = true;
    this.#refusal = undefined;
    if (lost !== undefined) this.#startedOver(lost);
    for (const waiter of [this.#syncedWaiter, ...waiters]) waiter.resolve();
  }

  #beginList(version: string): void {
    const nowMs = this.#clock.monotonicMs();
    const { completeTo } = this.#cache;
    if (!isOlder(version, completeTo)) this.#staleSinceMs = undefined;
    else this.#staleSinceMs ??= nowMs;
    const graceMs = this.#options.staleGraceMs ?? usualStaleGraceMs;
    const isLongStale = this.#staleSinceMs !== undefined && nowMs - this.#staleSinceMs >= graceMs;
    const { how, from } = this.#startOver ?? { how: 'no' as const, from: version };
    const startOver = isLongStale ? 'if older' : isOlder(version, from) ? 'no' : how;
    if (!this.#cache.beginList(version, startOver)) throw new StaleList(version, completeTo);
    this.#receivedMs = nowMs;
  }

  #startedOver(lost: readonly T[]): void {
    this.#log.warn(
      { resource: this.#name, version: this.#cache.completeTo, count: lost.length },
      `the server has gone back to an older version of ${this.#name}, as after a restored backup; starting over with what it has`,
    );
    try {
      this.#options.onStartedOver?.(lost);
    } catch (error) {
      this.#log.error(
        { resource: this.#name, error: describeError(error) },
        'handling what a restored backup has lost failed',
      );
    }
  }

  async #mustListAgain(signal: AbortSignal): Promise<boolean> {
    const { completeTo, listedAt } = this.#cache;
    const newest = this.#cache.newest(checkedObjects);
    const known = { completeTo, listedAt, newest };
    const { client } = this.#options;
    const { check, version } = await checkStore(client, this.#options, known, signal);
    this.#isDoubtful = false;
    if (check === 'went back') this.#startOver = { how: 'yes', from: version };
    else this.#startOver = check === 'fell back' ? { how: 'if older', from: version } : undefined;
    this.#owedDeletion = check === 'newest is gone' ? newest[0] : undefined;
    // Watches that stay silent one after the other do not work here: then lists have to do.
    const isAsSeen = check === 'as seen' || check === 'newest is gone';
    return !isAsSeen || this.#silentWatches > 1;
  }

  /** Everything that the server has sent since is of its new history: the deletion was lost. */
  #isDeletionOwed(): boolean {
    const owed = this.#owedDeletion;
    this.#owedDeletion = undefined;
    return owed !== undefined && this.#cache.get(objectKey(owed))?.uid === owed.uid;
  }

  async #watch(interrupt: AbortSignal): Promise<void> {
    const { client, resource, namespace, labelSelector, fieldSelector, decode } = this.#options;
    const { watchSeconds = usualWatchSeconds } = this.#options;
    // After a trouble the end of a short one shows soon that the server is heard again.
    const isTroubled = this.#failures > 0 || this.#silentWatches > 0;
    const isTrial = isTroubled || this.#owedDeletion !== undefined;
    const seconds = isTrial ? trialWatchSeconds : watchSeconds;
    const timeoutSeconds = spreadWatchSeconds(Math.min(seconds, watchSeconds), this.#random);
    const timeoutMs = timeoutSeconds * 1_000;
    const startedMs = this.#clock.monotonicMs();
    const heard = () => {
      this.#silentWatches = 0;
      this.#receivedMs = this.#clock.monotonicMs();
    };
    let hasReceived = false;
    // Only a watch that works ends the back-off: a server whose lists work and
    // whose watches fail at once must not be listed in a hot loop.
    let isGood = false;
    const good = () => {
      isGood = true;
      clearTimeout(timer);
      this.#recovered();
    };
    const timer = setTimeout(good, goodWatchMs);
    try {
      await client.watch(
        resource,
        {
          namespace,
          labelSelector,
          fieldSelector,
          decode,
          resourceVersion: this.#cache.completeTo,
          timeoutSeconds,
          silenceMs: timeoutMs + (this.#options.silenceGraceMs ?? silenceGraceMs),
          signal: interrupt,
          onReceived: () => {
            hasReceived = true;
            heard();
          },
        },
        (event) => {
          if (!isGood) good();
          this.#apply(event);
        },
      );
    } catch (error) {
      if (error instanceof ApiError && error.isTimeout) this.#silentWatches += 1;
      throw error;
    } finally {
      clearTimeout(timer);
    }
    // Its end at the time that was asked for came from the server too.
    heard();
    const isEarly = this.#clock.monotonicMs() - startedMs < timeoutMs - earlyMs;
    this.#isDoubtful = isEarly || !hasReceived;
    if (!isGood) throw new Error('the watch ended at once');
  }

  #apply(event: WatchEvent): void {
    this.#events.inc({ resource: this.#name, type: event.type });
    const { resourceVersion = '' } = event.object.metadata;
    const { completeTo } = this.#cache;
    if (isOlder(resourceVersion, completeTo)) throw new StaleEvent(resourceVersion, completeTo);
    switch (event.type) {
      case 'BOOKMARK':
        this.#cache.bookmark(resourceVersion);
        break;
      case 'DELETED':
        this.#cache.deleteWatched(event.object);
        break;
      default:
        this.#cache.putWatched(event.object);
    }
  }

  #mustListAfter(error: unknown): boolean {
    this.#failures += 1;
    if (!(error instanceof ApiError)) return false;
    if (error.isGone || error.isNotFound) return true;
    // The server answers, but not to this: a version it cannot serve, say.
    return error.status !== 0 && this.#failures >= failuresBeforeRelist;
  }

  #pauseAfter(error: unknown): number {
    const isApi = error instanceof ApiError;
    if (isApi && error.isGone && this.#failures === 1) return 0;
    const retryAfterMs = ((isApi && error.retryAfterSeconds) || 0) * 1_000;
    const ms = Math.max(this.#backoff.nextMs(), retryAfterMs);
    return isApi && error.isNotFound ? Math.min(ms, unregisteredCapMs) : ms;
  }

  #recovered(): void {
    this.#backoff.reset();
    this.#failures = 0;
    this.#followLog.works();
  }
}

function refusalOf(error: ApiError): 'not registered' | 'forbidden' | undefined {
  if (error.isNotFound) return 'not registered';
  return error.isForbidden ? 'forbidden' : undefined;
}
