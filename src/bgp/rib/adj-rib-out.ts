/**
 * What has been advertised to one peer, and what still has to be: the Adj-RIB-Out
 * of RFC 4271 §3.2. It is pulled, never pushed: `next()` makes one message from the state of this moment, so a
 * route that changes three times while the peer is slow is sent once, as it is.
 *
 *   changed prefixes ─▶ dirty ──┐   (first: a change is small and somebody waits for it)
 *                               ├─▶ buckets by equal attributes ─▶ packed UPDATEs
 *   whole table ─▶ sweep ───────┘   (then: start of a session, route refresh, new settings)
 *
 * Announcements leave before withdrawals, so that a block that moves or is split
 * is never without a route in between. A sweep ends with End-of-RIB the first
 * time (RFC 4724 §2), even if the table is empty, and with the end marker of
 * RFC 7313 when it answers a refresh.
 */
import type { Family } from '../../net/family.ts';
import { wireFamily } from '../session/session-negotiation.ts';
import {
  encodeAnnounce,
  encodeEndOfRib,
  encodeRouteRefresh,
  encodeWithdraw,
  Nlri,
} from '../wire/message.ts';
import type { AnnouncementTable, OriginatedRoute } from './announcement-table.ts';
import { RenderingCache } from './rendering-cache.ts';
import type { RenderContext, Rendered } from './route-rendering.ts';

/** Routes looked at before anything else is; a message is made of at most a few such steps. */
const routesPerStep = 500;
/** Prefixes that wait for company before they are encoded: two full messages of /24. */
const gatherLimit = 2000;

interface Sweep {
  readonly family: Family;
  readonly kind: 'initial' | 'refresh' | 'compare';
  routes: Iterator<OriginatedRoute> | undefined;
}

export class AdjRibOut {
  readonly #table: AnnouncementTable;
  readonly #name: string;
  #context: RenderContext | undefined;
  #isDraining = false;
  /** By prefix: the very object it was made of, so that a comparison is one of references. */
  readonly #advertised = new Map<string, Rendered>();
  readonly #unencodable = new Map<string, string>();
  readonly #dirty = new Map<string, OriginatedRoute>();
  #sweeps: Sweep[] = [];
  readonly #buckets = new Map<Rendered, Nlri[]>();
  #gathered = 0;
  readonly #withdrawals = { ipv4: new Map<string, Nlri>(), ipv6: new Map<string, Nlri>() };
  /** Messages still to be made, in order; making them all at once would hold up everybody. */
  #chores: (() => readonly Uint8Array[])[] = [];
  #ready: Uint8Array[] = [];
  readonly #renderings = new RenderingCache();

  constructor(table: AnnouncementTable, peerName: string) {
    this.#table = table;
    this.#name = peerName;
  }

  /** The session is up: nothing has been advertised on it yet. */
  open(context: RenderContext): void {
    this.close();
    this.#context = context;
    this.#sweeps = context.negotiated.families.map((family) => ({
      family,
      kind: 'initial',
      routes: undefined,
    }));
  }

  close(): void {
    this.#context = undefined;
    this.#advertised.clear();
    this.#dirty.clear();
    this.#buckets.clear();
    this.#gathered = 0;
    this.#chores = [];
    this.#withdrawals.ipv4.clear();
    this.#withdrawals.ipv6.clear();
    this.#ready = [];
    this.#sweeps = [];
    this.#unencodable.clear();
    this.#renderings.clear();
  }

  /** These prefixes are new, gone or different. */
  touch(routes: Iterable<OriginatedRoute>): void {
    if (this.#context === undefined) return;
    for (const route of routes) {
      if (this.#isConcerned(route)) this.#dirty.set(route.prefix, route);
    }
  }

  /** RFC 2918: the peer asks for everything of a family again. */
  refresh(family: Family): boolean {
    if (this.#context?.negotiated.families.includes(family) !== true) return false;
    // A sweep that has not begun yet will advertise everything anyway.
    const isQueued = this.#sweeps.some(
      (s) => s.family === family && s.kind === 'refresh' && s.routes === undefined,
    );
    if (!isQueued) this.#sweeps.push({ family, kind: 'refresh', routes: undefined });
    return true;
  }

  /** Settings that shape attributes have changed; only what differs is sent. */
  setContext(context: RenderContext): void {
    if (this.#context === undefined) return;
    this.#flush();
    this.#context = context;
    this.#unencodable.clear();
    this.#renderings.contextChanged();
    for (const family of context.negotiated.families) {
      this.#sweeps.push({ family, kind: 'compare', routes: undefined });
    }
  }

  /** Takes back everything; nothing is announced any more until the next `open`. */
  drain(): void {
    this.#isDraining = true;
    this.#sweeps = this.#sweeps.filter((sweep) => sweep.kind === 'initial');
    for (const prefix of this.#advertised.keys()) this.#dirty.set(prefix, routeOf(prefix));
  }

  get announcedCount(): number {
    return this.#advertised.size;
  }

  /** Nothing is waiting to be made into a message. */
  get isDone(): boolean {
    const isQuiet = this.#dirty.size === 0 && this.#sweeps.length === 0;
    return isQuiet && this.#chores.length === 0 && this.#ready.length === 0;
  }

  *announced(): IterableIterator<{ prefix: string; rendered: Rendered }> {
    for (const [prefix, rendered] of this.#advertised) yield { prefix, rendered };
  }

  /** Announcements that cannot be encoded for this peer, with the reason. */
  get unencodable(): ReadonlyMap<string, string> {
    return this.#unencodable;
  }

  next(): Uint8Array | undefined {
    while (this.#ready.length === 0) {
      if (this.#context === undefined) return undefined;
      const chore = this.#chores.shift();
      if (chore !== undefined) this.#ready.push(...chore());
      else if (this.#dirty.size > 0) this.#stepDirty();
      else if (this.#sweeps.length > 0) this.#stepSweep(this.#sweeps[0]!, this.#context);
      else return undefined;
    }
    return this.#ready.shift();
  }

  #stepDirty(): void {
    // What has been gathered is older than this change: it has to leave first.
    this.#flushAnnouncements();
    let left = gatherLimit;
    for (const [prefix, route] of this.#dirty) {
      if (left-- === 0) break;
      this.#dirty.delete(prefix);
      this.#weigh(this.#table.get(route) ?? route, false);
    }
    // Withdrawals wait until every announcement of this change has been made.
    if (this.#dirty.size === 0) this.#flush();
  }

  #stepSweep(sweep: Sweep, context: RenderContext): void {
    const { family, kind } = sweep;
    const isEnhanced = kind === 'refresh' && context.negotiated.hasEnhancedRouteRefresh;
    if (sweep.routes === undefined) {
      sweep.routes = this.#table.routes(family);
      // RFC 7313 §4: beginning and end of the answer, so that the peer can drop what was not repeated.
      if (isEnhanced) this.#mark(encodeRouteRefresh({ ...wireFamily(family), subtype: 1 }));
    }
    for (let looked = 0; looked < routesPerStep; looked++) {
      const { done, value } = sweep.routes.next();
      if (!done) {
        this.#weigh(value, kind === 'refresh');
        continue;
      }
      this.#flush();
      if (kind === 'initial') this.#mark(encodeEndOfRib(wireFamily(family)));
      if (isEnhanced) this.#mark(encodeRouteRefresh({ ...wireFamily(family), subtype: 2 }));
      this.#sweeps.shift();
      return;
    }
  }

  /** Puts a route where it belongs: a bucket, the withdrawals, or nowhere. */
  #weigh(route: OriginatedRoute, evenIfAdvertised: boolean): void {
    const { prefix, family, nlri } = route;
    const wanted = this.#desired(route);
    const advertised = this.#advertised.get(prefix);
    if (wanted === undefined) {
      if (advertised === undefined) return;
      this.#advertised.delete(prefix);
      this.#withdrawals[family].set(prefix, nlri);
      return;
    }
    if (advertised === wanted && !evenIfAdvertised) return;
    if (advertised !== wanted) this.#advertised.set(prefix, wanted);
    // Back before its withdrawal was made: announcing it again is enough.
    if (this.#withdrawals[family].size > 0) this.#withdrawals[family].delete(prefix);
    const bucket = this.#buckets.get(wanted);
    if (bucket === undefined) this.#buckets.set(wanted, [nlri]);
    else bucket.push(nlri);
    if (++this.#gathered >= gatherLimit) this.#flushAnnouncements();
  }

  #desired(route: OriginatedRoute): Rendered | undefined {
    const context = this.#context;
    if (context === undefined || this.#isDraining) return undefined;
    if (!context.negotiated.families.includes(route.family)) return undefined;
    const set = route.variants.find((v) => v.peers === undefined || v.peers.has(this.#name));
    if (set === undefined) {
      this.#unencodable.delete(route.prefix);
      return undefined;
    }
    if (this.#renderings.size > 2 * this.#advertised.size + 1000) {
      this.#renderings.keepOnly(new Set(this.#advertised.values()));
    }
    const rendered = this.#renderings.render(set, route.family, context);
    if (typeof rendered === 'string') {
      this.#unencodable.set(route.prefix, rendered);
      return undefined;
    }
    if (this.#unencodable.size > 0) this.#unencodable.delete(route.prefix);
    return rendered;
  }

  get renderingsKept(): number {
    return this.#renderings.size;
  }

  #isConcerned(route: OriginatedRoute): boolean {
    if (this.#advertised.has(route.prefix)) return true;
    return route.variants.some((v) => v.peers === undefined || v.peers.has(this.#name));
  }

  #flush(): void {
    this.#flushAnnouncements();
    const send = this.#context?.negotiated.send;
    for (const withdrawn of Object.values(this.#withdrawals)) {
      if (withdrawn.size === 0 || send === undefined) continue;
      const prefixes = [...withdrawn.values()];
      this.#chores.push(() => encodeWithdraw(prefixes, send));
      withdrawn.clear();
    }
  }

  #flushAnnouncements(): void {
    const send = this.#context?.negotiated.send;
    if (send === undefined) return;
    for (const [rendered, prefixes] of this.#buckets) {
      this.#chores.push(() => encodeAnnounce({ prefixes, ...rendered }, send));
    }
    this.#buckets.clear();
    this.#gathered = 0;
  }

  #mark(message: Uint8Array): void {
    this.#chores.push(() => [message]);
  }
}

/** A prefix that nobody announces any more, as far as a withdrawal needs it. */
function routeOf(prefix: string): OriginatedRoute {
  const nlri = Nlri.parse(prefix);
  if (nlri === undefined) throw new Error(`${prefix} is not a prefix`);
  return { prefix, family: prefix.includes(':') ? 'ipv6' : 'ipv4', nlri, variants: [] };
}
