import { type Clock, systemClock } from '../base/clock.ts';
import { describeError } from '../base/errors.ts';
import { type Log, silentLog } from '../base/log.ts';
import { type Gauge, Metrics } from '../base/metrics.ts';
import { timerMs } from '../base/timer-ms.ts';
import { ApiError } from './api-error.ts';
import { pause } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { holderOf, type Lease, LeaseObject, type LeaseSpec, microTime } from './lease-object.ts';
import { LeasePace } from './lease-pace.ts';
import { checkTimings, defaultTimings, type LeaseTimings } from './lease-timings.ts';
import { onAbort } from './on-abort.ts';
import { compareVersions } from './resource-version.ts';

/**
 * Leader election by a Lease: the same record and rules as client-go, so that
 * `kubectl get lease` and other tools read it as usual.
 *
 * Two clocks never meet here. Another's lease is judged by how long, by our own
 * monotonic time, its record has not changed under our eyes; the times written
 * in it are for people. Our own is judged by when the last renewal that
 * succeeded was *sent*: `isLeader` compares that with now at every call, so a
 * process that was frozen past its deadline knows on its first instruction.
 *
 * Unlike client-go, a standby watches the Lease: it learns of a release at
 * once, and its count starts when a renewal happens, not at the next poll.
 * Until the watch has sent something it polls as client-go does, and a watch
 * that missed a renewal is found out at the take-over, and set up anew.
 *
 * The times follow a server that answers slowly (lease-pace): the holder writes a longer
 * duration, and others respect what is written.
 *
 * Every write carries the resourceVersion of the record that was judged. If
 * anybody wrote in between it is refused, and we look again; so a write whose
 * outcome is unknown needs no care of its own.
 */
export interface LeadershipOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  /** Unique per process: two processes with one identity would both lead. */
  identity: string;
  timings?: LeaseTimings | undefined;
  clock?: Clock | undefined;
  log?: Log | undefined;
  metrics?: Metrics | undefined;
  random?: (() => number) | undefined;
  onAcquired?: (() => void) | undefined;
  onLost?: ((why: string) => void) | undefined;
}

const notRenewed = 'the lease was not renewed in time';

export class Leadership {
  onAcquired: (() => void) | undefined;
  onLost: ((why: string) => void) | undefined;
  readonly #identity: string;
  readonly #lease: LeaseObject;
  readonly #fields: { lease: string; identity: string };
  readonly #durationSeconds: number;
  readonly #retryMs: number;
  readonly #pace: LeasePace;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: Log;
  readonly #gauge: Gauge;
  /** The last record seen, and when, by our own clock, it last changed. */
  #seen: { lease: Lease; version: string; changedMs: number } | undefined;
  /** Until when the lease may be trusted, by when the last renewal that succeeded was sent. */
  #trustedUntilMs = Number.NEGATIVE_INFINITY;
  #attempt = { startedMs: Number.NEGATIVE_INFINITY, version: '' };
  /** What the callbacks were last called with. */
  #wasLeader = false;
  #complaint = '';
  #isWatching = false;
  #isReleased = false;
  #found: LeaseSpec | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #wake = new AbortController();
  #stopWatch = new AbortController();
  #lastTurn: Promise<unknown> = Promise.resolve();

  /** Throws BAD_FLAG when the timings cannot work. */
  constructor(options: LeadershipOptions) {
    const timings = options.timings ?? defaultTimings;
    checkTimings(timings);
    this.#durationSeconds = timings.leaseDurationSeconds;
    this.#retryMs = timings.retryPeriodSeconds * 1_000;
    this.#pace = new LeasePace(timings);
    this.#identity = options.identity;
    this.#lease = new LeaseObject(options);
    this.#fields = { lease: `${options.namespace}/${options.name}`, identity: options.identity };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#log = options.log ?? silentLog;
    this.#gauge = (options.metrics ?? new Metrics()).gauge(
      'cadastre_leader',
      'Whether this process leads (1) or stands by (0).',
    );
    this.#gauge.set(0);
    this.onAcquired = options.onAcquired;
    this.onLost = options.onLost;
  }

  /** What the lease said when we last tried to take it; undefined: there was none. */
  get found(): LeaseSpec | undefined {
    return this.#found;
  }

  isLeader(): boolean {
    return this.#leftMs() > 0;
  }

  /** Who holds the lease as far as was seen here; empty when nobody does. */
  get holder(): string {
    return this.#seen === undefined ? '' : holderOf(this.#seen.lease);
  }

  /** How this process stands, in words; neither leading nor standing by is a fault. */
  standing(): { kind: 'leads' | 'stands by' | 'neither'; says: string } {
    const { holder } = this;
    if (this.isLeader()) return { kind: 'leads', says: `leads as ${this.#identity}` };
    if (holder === '') return { kind: 'neither', says: 'nobody is known to hold the lease' };
    if (holder === this.#identity) return { kind: 'neither', says: notRenewed };
    if (this.#expiresInMs() > 0) return { kind: 'stands by', says: `stands by; ${holder} leads` };
    return { kind: 'neither', says: `${holder} has not renewed the lease in time` };
  }

  /** Takes part until the signal aborts (the lease is kept) or release() is called. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => {
      this.#wake.abort();
      this.#stopWatch.abort();
    };
    const forget = onAbort(signal, stop);
    const watching = this.#watchWhileStandby(signal);
    while (!signal.aborted && !this.#isReleased) {
      this.#wake = new AbortController();
      const dueInMs = this.#dueInMs();
      if (dueInMs > 0) await pause(dueInMs, this.#wake.signal);
      else await this.tryOnce();
    }
    stop();
    forget();
    await watching;
  }

  /** One attempt to take or renew the lease; true when we lead after it. Never throws. */
  tryOnce(): Promise<boolean> {
    return this.#takeTurn(async () => {
      this.#attempt = { startedMs: this.#clock.monotonicMs(), version: this.#seen?.version ?? '' };
      try {
        if (!this.#isReleased) await this.#takeOrRenew();
        this.#complaint = '';
      } catch (error) {
        this.#complain(describeError(error));
      }
      return this.isLeader();
    });
  }

  /** Once for each trouble, not for each attempt: there are several in a second. */
  #complain(error: string): void {
    const what = this.isLeader() ? 'could not renew the lease' : 'could not take the lease';
    const complaint = `${what}: ${error}`;
    const level = complaint === this.#complaint ? 'debug' : 'warn';
    this.#complaint = complaint;
    this.#log[level]?.({ ...this.#fields, error }, `${what}; trying again`);
  }

  /** Gives the lease up, so that the next one need not wait for it. Never throws. */
  release(): Promise<void> {
    this.#isReleased = true;
    this.#wake.abort();
    this.#stopWatch.abort();
    return this.#takeTurn(async () => {
      const leftMs = this.#leftMs();
      this.#trustedUntilMs = Number.NEGATIVE_INFINITY;
      this.#notify('it was released');
      const held = this.#seen?.lease;
      if (held === undefined || holderOf(held) !== this.#identity) return;
      const now = microTime(this.#clock.wallMs());
      // One second, as client-go writes it.
      const freed = {
        holderIdentity: '',
        leaseDurationSeconds: 1,
        acquireTime: now,
        renewTime: now,
      };
      try {
        await this.#lease.replace(held, freed, this.#pace.patienceMs(leftMs));
        this.#log.info(this.#fields, 'released the lease');
      } catch (error) {
        const fields = { ...this.#fields, error: describeError(error) };
        this.#log.warn(fields, 'could not release the lease; it will expire');
      }
    });
  }

  /** Attempts and the release share the record: never two at a time. */
  #takeTurn<R>(work: () => Promise<R>): Promise<R> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => {});
    return turn;
  }

  async #takeOrRenew(): Promise<void> {
    // The usual case needs no read: what we saw last is still the record.
    if (this.#seen !== undefined && this.#mayTake()) {
      if (await this.#write(this.#seen.lease)) return;
      // It changed, and the watch did not report it.
      this.#stopWatch.abort();
    }
    const lease = await this.#timed((timeoutMs) => this.#lease.read(timeoutMs));
    if (lease === undefined) {
      this.#seen = undefined;
      await this.#write(undefined);
      return;
    }
    this.#observe(lease, true);
    if (this.#mayTake()) {
      await this.#write(lease);
      return;
    }
    this.#trustedUntilMs = Number.NEGATIVE_INFINITY;
    this.#notify(`the lease was taken by ${holderOf(lease)}`);
  }

  #mayTake(): boolean {
    return this.holder === '' || this.holder === this.#identity || this.#expiresInMs() <= 0;
  }

  /** By our own time since the record last changed under our eyes. */
  #expiresInMs(): number {
    if (this.#seen === undefined) return 0;
    const { lease, changedMs } = this.#seen;
    const seconds = lease.spec?.leaseDurationSeconds || this.#durationSeconds;
    return changedMs + seconds * 1_000 - this.#clock.monotonicMs();
  }

  /** Writes us into the record; false when it is not what was seen any more. */
  async #write(seen: Lease | undefined): Promise<boolean> {
    const sentMs = this.#clock.monotonicMs();
    const leaseDurationSeconds = this.#pace.durationSeconds();
    const now = microTime(this.#clock.wallMs());
    const isOurs = seen !== undefined && holderOf(seen) === this.#identity;
    if (!this.isLeader()) this.#found = seen?.spec;
    const spec: LeaseSpec = {
      holderIdentity: this.#identity,
      leaseDurationSeconds,
      acquireTime: (isOurs ? seen.spec?.acquireTime : undefined) ?? now,
      renewTime: now,
      leaseTransitions:
        seen === undefined ? 0 : (seen.spec?.leaseTransitions ?? 0) + (isOurs ? 0 : 1),
    };
    const written = await this.#timed((timeoutMs) =>
      seen === undefined
        ? this.#lease.create(spec, timeoutMs)
        : this.#lease.replace(seen, spec, timeoutMs),
    );
    if (written === undefined) return false;
    this.#observe(written, true);
    // A gap in which isLeader() said no is reported, even if nobody else led in it.
    if (!this.isLeader()) this.#notify(notRenewed);
    this.#trustedUntilMs = sentMs + this.#pace.trustedMs(leaseDurationSeconds);
    this.#notify(notRenewed);
    return true;
  }

  /**
   * `isAnswer`: the server's own answer at this moment, which counts whatever its
   * version: after a restored backup versions are lower, and whoever went by them
   * would take a live leader's lease for one that is never renewed.
   */
  #observe(lease: Lease, isAnswer = false): void {
    const version = lease.metadata.resourceVersion ?? '';
    if (version === this.#seen?.version) return;
    const isOld = this.#seen !== undefined && compareVersions(version, this.#seen.version) < 0;
    if (isOld && !isAnswer) return;
    this.#seen = { lease, version, changedMs: this.#clock.monotonicMs() };
  }

  /** What is left of the time in which we may trust our lease. */
  #leftMs(): number {
    return this.#trustedUntilMs - this.#clock.monotonicMs();
  }

  /** The pace is set by how long the server takes to answer. */
  async #timed<R>(request: (timeoutMs: number) => Promise<R>): Promise<R> {
    const timeoutMs = this.#pace.patienceMs(this.#leftMs());
    const sentMs = this.#clock.monotonicMs();
    const tookMs = () => this.#clock.monotonicMs() - sentMs;
    try {
      const answer = await request(timeoutMs);
      this.#pace.answered(tookMs());
      return answer;
    } catch (error) {
      const isApi = error instanceof ApiError;
      if (isApi && error.isTimeout) this.#pace.timedOut();
      else if (isApi && error.status !== 0) this.#pace.answered(tookMs());
      throw error;
    }
  }

  /** How long until the next attempt, as things stand now. */
  #dueInMs(): number {
    const sinceMs = this.#clock.monotonicMs() - this.#attempt.startedMs;
    if (this.holder === this.#identity) return this.#retryMs - sinceMs;
    // A record that was tried already is not tried again at once.
    const isTried = this.#attempt.version === (this.#seen?.version ?? '');
    const againMs = isTried ? this.#retryMs * (0.2 + 0.3 * this.#random()) - sinceMs : 0;
    if (this.holder === '') return againMs;
    const expiresInMs = Math.max(this.#expiresInMs(), againMs);
    if (this.#isWatching) return expiresInMs;
    return Math.min(expiresInMs, this.#retryMs * (1 + 0.2 * this.#random()) - sinceMs);
  }

  /** Calls the callbacks when what they know is not true any more. */
  #notify(whyLost: string): void {
    const leads = this.isLeader();
    clearTimeout(this.#deadline);
    if (leads) {
      this.#deadline = setTimeout(
        () => this.#notify(notRenewed),
        timerMs(Math.ceil(this.#leftMs())),
      );
    }
    if (leads === this.#wasLeader) return;
    this.#wasLeader = leads;
    this.#gauge.set(leads ? 1 : 0);
    if (leads) this.#log.info(this.#fields, 'became the leader');
    else this.#log.info(this.#fields, `lost the leadership: ${whyLost}`);
    try {
      if (leads) this.onAcquired?.();
      else this.onLost?.(whyLost);
    } catch (error) {
      this.#log.error({ error: describeError(error) }, 'a leadership callback failed');
    }
  }

  async #watchWhileStandby(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isReleased) {
      const version = this.#seen?.version;
      if (this.isLeader() || version === undefined) {
        await pause(this.#retryMs / 5, signal);
        continue;
      }
      this.#stopWatch = new AbortController();
      const { signal: stopped } = this.#stopWatch;
      try {
        await this.#lease.watch(version, stopped, (lease) => {
          if (this.isLeader()) return this.#stopWatch.abort();
          this.#isWatching = true;
          if (lease === undefined) this.#seen = undefined;
          else this.#observe(lease);
          // The sleeper's alarm is set for an expiry that has moved.
          this.#wake.abort();
        });
      } catch (error) {
        if (!stopped.aborted) {
          this.#log.debug?.(
            { ...this.#fields, error: describeError(error) },
            'the watch of the lease failed',
          );
          this.#isWatching = false;
          this.#wake.abort();
          await pause(this.#retryMs * (0.5 + this.#random()), stopped);
        }
      }
      this.#isWatching = false;
    }
  }
}
