/**
 * The room's essay. Routers that connect to us and say, for as long as they are connected,
 * what they hold: over BMP (RFC 7854), or over a BGP session in which they advertise and we
 * do not. The operator, the console and the doctor use the same.
 *
 *   router ─TCP─▶ listener ─▶ bmp-router, bgp-router ─▶ witness ─▶ HeardRouters   release of blocks
 *                             (complete-since,                  ─▶ SeenRouter[]   drift, console, doctor
 *                              gone-times)
 *
 * What it promises: a route that is missing here is missing on the router, or the family is
 * not complete and says why. So everything that could make a table look emptier than it is
 * makes it incomplete: a connection that ended, a table still on its way, a message that could
 * not be read, a router that fell silent, and a process of ours that was frozen and has not
 * read what came meanwhile. After a restart nothing is known.
 *
 * What it cannot see: a router that itself sums up changes (FRR's BMP queue does) does not
 * report a route that came and went within a moment.
 */
import { type Log, silentLog } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { type Family, families } from '../net/family.ts';
import type { HeardRouter, HeardRouters } from '../plan/blocks/heard-routers.ts';
import type { Source } from '../plan/doctor/finding.ts';
import type { ConnectedRouter, SeenRouter } from './connected-router.ts';
import { type EndedRouter, EndedRouters } from './ended-routers.ts';
import { type Listener, type ListenPlan, openListener } from './listener.ts';
import { registerWitnessMetrics } from './witness-metrics.ts';

/** What the operator asks of those who hear routers. */
export interface RouterWitness extends HeardRouters {
  seen(): SeenRouter[];
  onChange(heed: () => void): void;
}

interface WitnessOptions {
  /** Of the monotonic clock. */
  now(): number;
  log?: Log;
  metrics?: Metrics | undefined;
  /** A larger table is not compared: whoever does it again and again must do other work too. */
  mostRoutes?: number;
}

const lookEveryMs = 1_000;
/** A router that has not sent everything by then is worth a line in the log. */
const patienceMs = 60_000;
/** Looks this far apart mean that this process did not run in between. */
const frozenMs = 5_000;

export class Witness implements RouterWitness {
  readonly #o: WitnessOptions;
  readonly #log: Log;
  readonly #listeners: Listener[] = [];
  /** Since when each is connected; 0 once it was complete, or said not to be. */
  readonly #connected = new Map<ConnectedRouter, number>();
  readonly #complete = new Map<ConnectedRouter, ReadonlySet<Family>>();
  readonly #ended = new EndedRouters();
  readonly #heeding = new Set<() => void>();
  #startedMs = 0;
  #lookedMs = 0;
  #looking: NodeJS.Timeout | undefined;

  constructor(options: WitnessOptions) {
    this.#o = options;
    this.#log = options.log ?? silentLog;
    if (options.metrics !== undefined) {
      registerWitnessMetrics(options.metrics, () => this.seen());
    }
  }

  /** `flag` names the option that asked for it, in case it cannot be. */
  async listen(plans: readonly ListenPlan[], flag = '--witness'): Promise<void> {
    const { now } = this.#o;
    this.#startedMs = now();
    this.#lookedMs = now();
    const events = {
      now,
      log: this.#log,
      onConnect: (router: ConnectedRouter) => this.#onConnect(router),
      onChange: () => this.#changed(),
      onEnd: (router: ConnectedRouter) => this.#onEnd(router),
    };
    try {
      for (const plan of plans) {
        const listener = await openListener(plan, events, flag);
        this.#listeners.push(listener);
        this.#log.info({ address: listener.what }, 'listening for routers');
      }
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#looking = setInterval(() => this.#look(), lookEveryMs);
    this.#looking.unref();
  }

  /** Where it listens, in words and by port. */
  get listeners(): ReadonlyArray<Pick<Listener, 'what' | 'port'>> {
    return this.#listeners;
  }

  get routers(): HeardRouter[] {
    this.#look();
    return this.#named().map(([name, router]) => ({
      name,
      addresses: router.addresses,
      by: router.by,
      completeSinceMs: router.completeSinceMs,
      lastRouteMs: (prefix) => router.lastRouteMs(prefix),
      lastSessionMs: (neighbor) => router.lastSessionMs(neighbor),
    }));
  }

  /** Those connected now, by name. */
  get connected(): ReadonlyArray<[string, ConnectedRouter]> {
    this.#look();
    return this.#named();
  }

  /** Every router that is or was heard, and every listener that nobody came to. */
  seen(): SeenRouter[] {
    this.#look();
    const nowMs = this.#o.now();
    const now = this.#named().map(([name, router]) => named(this.#seenOf(router), name));
    const ended = this.#ended.list(nowMs).map((one) => endedRouter(one, nowMs));
    const seconds = Math.floor((nowMs - this.#startedMs) / 1000);
    const idle = this.#listeners
      .filter(({ kind }) => ![...now, ...ended].some(({ source }) => source.kind === kind))
      .map((listener) => nobody(listener, seconds));
    return [...now, ...ended, ...idle];
  }

  #seenOf(router: ConnectedRouter): SeenRouter {
    const { name, by, routeCount } = router;
    const { mostRoutes = Number.POSITIVE_INFINITY } = this.#o;
    if (routeCount <= mostRoutes) return router.seen();
    const holds = `${by.toUpperCase()}: ${routeCount} routes`;
    const why = `more than the ${mostRoutes} routes that are compared: let it report fewer`;
    return unknown({ name, kind: by, ageSeconds: 0, holds, note: why });
  }

  /** Called whenever a router holds something else, comes, goes, or is complete. */
  onChange(heed: () => void): void {
    this.#heeding.add(heed);
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    this.#heeding.clear();
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.close()));
  }

  #onConnect(router: ConnectedRouter): void {
    this.#connected.set(router, this.#o.now());
    this.#changed();
  }

  #onEnd(router: ConnectedRouter): void {
    this.#connected.delete(router);
    this.#complete.delete(router);
    const { name, by } = router;
    this.#ended.add({ name, by, endedMs: this.#o.now() });
    this.#log.warn({ router: name, by }, 'router disconnected: what it holds is not known now');
    this.#changed();
  }

  #look(): void {
    const nowMs = this.#o.now();
    const wasFrozen = nowMs - this.#lookedMs > frozenMs;
    this.#lookedMs = nowMs;
    for (const [router, sinceMs] of this.#connected) {
      if (wasFrozen) router.startOver();
      else router.look(nowMs);
      this.#ended.forget(router);
      this.#noteComplete(router);
      if (sinceMs > 0 && nowMs - sinceMs > patienceMs) this.#noteUnfinished(router);
    }
  }

  #noteUnfinished(router: ConnectedRouter): void {
    this.#connected.set(router, 0);
    if (this.#complete.has(router)) return;
    const { name, by } = router;
    const { note } = router.seen().source;
    this.#log.warn(
      { router: name, by, detail: note },
      'connected, but not all of its table is received',
    );
  }

  #noteComplete(router: ConnectedRouter): void {
    const before = this.#complete.get(router) ?? new Set<Family>();
    const complete = new Set(families.filter((one) => router.completeSinceMs[one] !== undefined));
    if (families.every((family) => before.has(family) === complete.has(family))) return;
    this.#complete.set(router, complete);
    const { name, by } = router;
    for (const family of families) {
      if (complete.has(family) && !before.has(family)) {
        this.#log.info({ router: name, by, family }, 'the whole table of the router is received');
      } else if (before.has(family) && !complete.has(family)) {
        const { note } = router.seen().source;
        this.#log.warn(
          { router: name, by, family, detail: note },
          "the router's table is not complete now",
        );
      }
    }
    this.#changed();
  }

  /** In the order of the listeners. Two connections of one name get a number each. */
  #named(): Array<[string, ConnectedRouter]> {
    const times = new Map<string, number>();
    const place = ({ by }: ConnectedRouter) => this.#listeners.findIndex(({ kind }) => kind === by);
    const routers = [...this.#connected.keys()].sort((a, b) => place(a) - place(b));
    return routers.map((router) => {
      const count = (times.get(router.name) ?? 0) + 1;
      times.set(router.name, count);
      return [count === 1 ? router.name : `${router.name}#${count}`, router];
    });
  }

  #changed(): void {
    for (const heed of this.#heeding) heed();
  }
}

function named(seen: SeenRouter, name: string): SeenRouter {
  if (seen.table.router === name) return seen;
  return { table: { ...seen.table, router: name }, source: { ...seen.source, name } };
}

function endedRouter({ name, by, endedMs }: EndedRouter, nowMs: number): SeenRouter {
  const ageSeconds = Math.floor((nowMs - endedMs) / 1000);
  const note = 'its connection has ended: what it holds is not known';
  return unknown({ name, kind: by, ageSeconds, holds: 'nothing', note });
}

function nobody({ what, kind }: Listener, seconds: number): SeenRouter {
  const note = `no router connected to ${what} within ${seconds} s`;
  return unknown({ name: `listener ${kind}`, kind, ageSeconds: null, holds: 'nothing', note });
}

function unknown(source: Omit<Source, 'state'>): SeenRouter {
  return {
    table: { router: source.name, families: new Set(), routes: [], addresses: [] },
    source: { ...source, state: 'partly' },
  };
}
