/**
 * What one peer has advertised to us: the Adj-RIB-In of RFC 4271 §3.2, unprocessed.
 *
 * An UPDATE goes in with `apply`; prefixes go from its octets straight into a
 * `RouteTable` per family, their attributes once into an `AttributeStore`.
 * A route becomes an object only when somebody asks for it. So a full table of
 * a million routes is some tens of megabytes, and the garbage collector has
 * nothing to walk.
 *
 * Treat-as-withdraw (RFC 7606 §2) is obeyed here: what a faulty UPDATE
 * announces is removed. Where a prefix is both withdrawn and announced in one
 * UPDATE the announcement counts (RFC 4271 §4.3), so withdrawals go first.
 *
 * For graceful restart (RFC 4724 §4.2) and enhanced route refresh (RFC 7313
 * §4) the owner calls `markStale` when the peer goes down or begins a refresh;
 * each announcement freshens its route, and End-of-RIB, or `sweepStale` when
 * the owner's timer runs out, removes what was not repeated.
 *
 * Who has to know when a prefix was last here passes `onGone`: it is called for
 * every route that leaves, whatever takes it away.
 */
import type { Prefix } from '../../net/prefix.ts';
import { agree, maskWord } from '../../net/words.ts';
import { afiIpv4, isUnicast, unicastOf } from '../wire/afi-safi.ts';
import {
  type AfiSafi,
  ipv4Unicast,
  ipv6Unicast,
  Nlri,
  type NlriRun,
  sameFamily,
  type UpdateMessage,
} from '../wire/message.ts';
import { AttributeStore, type SharedAttributes } from './attribute-store.ts';
import { RouteTable } from './route-table.ts';

export interface ReceivedRoute extends SharedAttributes {
  readonly prefix: Nlri;
  /** Not repeated since the peer restarted. */
  readonly stale: boolean;
}

export interface RibChange {
  /** Routes new or replaced. */
  readonly announced: number;
  /** Routes that were here and are no longer. */
  readonly withdrawn: number;
  readonly endOfRib?: AfiSafi;
}

export class AdjRibIn {
  readonly #tables: readonly RouteTable[];
  readonly #store = new AttributeStore();
  readonly #onGone: ((prefix: Nlri) => void) | undefined;

  /** Routes of families not listed are ignored: the peer was never asked for them. */
  constructor(
    families: readonly AfiSafi[] = [ipv4Unicast, ipv6Unicast],
    onGone?: (prefix: Nlri) => void,
  ) {
    this.#onGone = onGone;
    this.#tables = families
      .filter((family) => isUnicast(family.afi, family.safi))
      .map((family) => new RouteTable(family.afi as 1 | 2));
  }

  get size(): number {
    return this.#tables.reduce((sum, table) => sum + table.size, 0);
  }

  sizeOf(family: AfiSafi): number {
    return this.#table(family)?.size ?? 0;
  }

  /** How many different attribute sets the routes share. */
  get attributeSets(): number {
    return this.#store.size;
  }

  apply(update: UpdateMessage): RibChange {
    const { mpReach, mpUnreach, nlri, endOfRib } = update;
    let withdrawn = this.#remove(update.withdrawn);
    if (mpUnreach?.kind === 'unicast') withdrawn += this.#remove(mpUnreach.withdrawn);
    if (update.treatAsWithdraw) {
      withdrawn += this.#remove(nlri);
      if (mpReach?.kind === 'unicast') withdrawn += this.#remove(mpReach.nlri);
      return { announced: 0, withdrawn };
    }
    let announced = 0;
    if (nlri.count > 0 && update.attributes.nextHop !== undefined) {
      announced += this.#add(nlri, update, [update.attributes.nextHop]);
    }
    if (mpReach?.kind === 'unicast' && mpReach.nlri.count > 0) {
      announced += this.#add(mpReach.nlri, update, mpReach.nextHops);
    }
    if (endOfRib === undefined) return { announced, withdrawn };
    return { announced, withdrawn: withdrawn + this.sweepStale(endOfRib), endOfRib };
  }

  /** The route of a prefix (and its path identifier), undefined if there is none. */
  lookup(prefix: Nlri): ReceivedRoute | undefined {
    const { afi, w0, w1, w2, w3, length, pathId } = prefix;
    const table = this.#tables.find((candidate) => candidate.afi === afi);
    const handle = table?.get(w0, w1, w2, w3, length, pathId) ?? 0;
    if (table === undefined || handle === 0) return undefined;
    const stale = table.isStale(w0, w1, w2, w3, length, pathId);
    const { attributes, nextHops } = this.#store.get(handle);
    return { prefix, attributes, nextHops, stale };
  }

  /** Is there a route to this prefix, or to a piece of it? Looks at the whole table if not. */
  holds(prefix: Prefix): boolean {
    const { family, length, w0, w1, w2, w3 } = prefix;
    const table = this.#table(unicastOf(family));
    if (table === undefined || table.size === 0) return false;
    if (table.get(w0, w1, w2, w3, length, 0) !== 0) return true;
    const [m0, m1, m2, m3] = [0, 1, 2, 3].map((word) => maskWord(length, word as 0 | 1 | 2 | 3));
    let isHeld = false;
    table.visit((v0, v1, v2, v3, itsLength) => {
      if (isHeld || itsLength < length || ((v0 ^ w0) & m0!) !== 0) return;
      isHeld = (((v1 ^ w1) & m1!) | ((v2 ^ w2) & m2!) | ((v3 ^ w3) & m3!)) === 0;
    });
    return isHeld;
  }

  /** Calls for each route, in no order; the rib must not change meanwhile. */
  forEach(visit: (route: ReceivedRoute) => void): void {
    for (const table of this.#tables) {
      table.visit((w0, w1, w2, w3, length, pathId, handle, stale) => {
        const { attributes, nextHops } = this.#store.get(handle);
        const prefix = new Nlri(table.afi, length, w0, w1, w2, w3, pathId);
        visit({ prefix, attributes, nextHops, stale });
      });
    }
  }

  /** The routes that lie in one of these networks: equal to it, or more specific. */
  routesInside(networks: readonly Prefix[]): ReceivedRoute[] {
    const inside: ReceivedRoute[] = [];
    for (const table of this.#tables) {
      const family = table.afi === afiIpv4 ? 'ipv4' : 'ipv6';
      const own = networks.filter((network) => network.family === family);
      if (own.length === 0) continue;
      table.visit((w0, w1, w2, w3, length, pathId, handle, stale) => {
        const words = { w0, w1, w2, w3 };
        if (!own.some((net) => net.length <= length && agree(net, words, net.length))) return;
        const prefix = new Nlri(table.afi, length, w0, w1, w2, w3, pathId);
        inside.push({ prefix, ...this.#store.get(handle), stale });
      });
    }
    return inside;
  }

  routes(): ReceivedRoute[] {
    const list: ReceivedRoute[] = [];
    this.forEach((route) => {
      list.push(route);
    });
    return list;
  }

  markStale(family: AfiSafi): void {
    this.#table(family)?.markAllStale();
  }

  /** Removes what is still stale and returns how many routes that were. */
  sweepStale(family: AfiSafi): number {
    let removed = 0;
    const table = this.#table(family);
    if (table !== undefined) this.#leaving(table, (stale) => stale);
    table?.sweepStale((handle) => {
      this.#store.addRoutes(handle, -1);
      removed++;
    });
    return removed;
  }

  /** The session is gone for good: forget all routes. */
  clear(): void {
    for (const table of this.#tables) {
      this.#leaving(table, () => true);
      table.visit((_0, _1, _2, _3, _length, _pathId, handle) => {
        this.#store.addRoutes(handle, -1);
      });
      table.clear();
    }
  }

  #leaving(table: RouteTable, leaves: (stale: boolean) => boolean): void {
    const onGone = this.#onGone;
    if (onGone === undefined) return;
    table.visit((w0, w1, w2, w3, length, _pathId, _handle, stale) => {
      if (leaves(stale)) onGone(new Nlri(table.afi, length, w0, w1, w2, w3));
    });
  }

  #table(family: AfiSafi): RouteTable | undefined {
    return this.#tables.find((table) => sameFamily(family, { afi: table.afi, safi: 1 }));
  }

  #add(run: NlriRun, update: UpdateMessage, nextHops: readonly string[]): number {
    const table = this.#tables.find((candidate) => candidate.afi === run.afi);
    if (table === undefined) return 0;
    const { attributes } = update;
    // The NEXT_HOP attribute is in the octets of the key, an MP next hop is not.
    const key = `${nextHops.join(' ')}|${update.attributeKey}`;
    const handle = this.#store.intern(key, () => ({ attributes, nextHops }));
    const store = this.#store;
    let gained = 0;
    run.visit((w0, w1, w2, w3, length, pathId) => {
      const before = table.set(w0, w1, w2, w3, length, pathId, handle);
      if (before === handle) return;
      gained++;
      if (before !== 0) store.addRoutes(before, -1);
    });
    store.addRoutes(handle, gained);
    return run.count;
  }

  #remove(run: NlriRun): number {
    if (run.count === 0) return 0;
    const table = this.#tables.find((candidate) => candidate.afi === run.afi);
    if (table === undefined) return 0;
    let removed = 0;
    run.visit((w0, w1, w2, w3, length, pathId) => {
      const handle = table.delete(w0, w1, w2, w3, length, pathId);
      if (handle === 0) return;
      removed++;
      this.#store.addRoutes(handle, -1);
      this.#onGone?.(new Nlri(table.afi, length, w0, w1, w2, w3));
    });
    return removed;
  }
}
