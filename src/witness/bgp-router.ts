/**
 * A router that has a BGP session with us: what it advertises to a neighbor, which is its
 * best paths. A family is known whole after End-of-RIB, and only if the router has ever
 * advertised a route of it: one that keeps all of them back (its export policy, or iBGP
 * without route reflection) looks like one that holds none.
 */
import type { Collector } from '../bgp/collector.ts';
import type { RibChange } from '../bgp/rib/adj-rib-in.ts';
import { familyOf } from '../bgp/wire/afi-safi.ts';
import type { Nlri } from '../bgp/wire/message.ts';
import { type Family, families } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import type { RouterRoute } from '../plan/doctor/evidence.ts';
import { CompleteSince } from './complete-since.ts';
import { type ConnectedRouter, prefixOf, type SeenRouter, seenRouter } from './connected-router.ts';
import { GoneTimes } from './gone-times.ts';

/** Towards an eBGP neighbour a router names itself as next hop (RFC 4271 §5.1.3). */
const selfNote =
  'every next hop is the router itself (eBGP), so where it sends packets is not visible: peer with it by iBGP';
const emptyNote =
  'it advertises no route to us: check its export policy, and route reflection if this is iBGP';

export class BgpRouter implements ConnectedRouter {
  readonly by = 'bgp';
  readonly name: string;
  readonly addresses: ReadonlySet<string>;
  readonly asn: number;
  /** Its sessions with others are not to be seen from here. */
  readonly neighbors = [];
  readonly #collector: Collector;
  readonly #complete = new CompleteSince();
  readonly #ended = new Set<Family>();
  readonly #advertised = new Set<Family>();
  readonly #goneRoutes = new GoneTimes<Prefix>();
  readonly #now: () => number;
  #changes = 0;
  #seen: { key: string; router: SeenRouter } | undefined;

  constructor(peer: string, asn: number, collector: Collector, now: () => number) {
    this.name = peer;
    this.addresses = new Set([peer]);
    this.asn = asn;
    this.#collector = collector;
    this.#now = now;
  }

  changed({ endOfRib, announced }: RibChange): void {
    this.#changes++;
    const family = endOfRib && familyOf(endOfRib);
    if (family !== undefined) this.#ended.add(family);
    if (announced === 0 || this.#advertised.size === families.length) return;
    for (const one of families) {
      if (this.#collector.countOf(this.name, one) > 0) this.#advertised.add(one);
    }
  }

  gone(nlri: Nlri): void {
    this.#goneRoutes.note(prefixOf(nlri), this.#now());
  }

  get routeCount(): number {
    return families.reduce((sum, one) => sum + this.#collector.countOf(this.name, one), 0);
  }

  get completeSinceMs(): Readonly<Partial<Record<Family, number>>> {
    return this.#complete.sinceMs;
  }

  lastRouteMs(prefix: Prefix): number | undefined {
    if (this.#collector.holds(this.name, prefix)) return Number.POSITIVE_INFINITY;
    return this.#goneRoutes.last((gone) => prefix.contains(gone));
  }

  lastSessionMs(): undefined {
    return undefined;
  }

  startOver(): void {
    this.#complete.reset();
  }

  look(nowMs: number): void {
    const isKnown = (family: Family) => this.#ended.has(family) && this.#advertised.has(family);
    this.#complete.set(families.filter(isKnown), nowMs);
  }

  seen(): SeenRouter {
    const complete = this.#complete.families;
    const key = [this.#changes, ...complete].join();
    if (this.#seen?.key === key) return this.#seen.router;
    const routes: RouterRoute[] = this.#collector
      .routesOf(this.name)
      .map(({ prefix, nextHops }) => ({
        prefix: prefixOf(prefix),
        nextHop: nextHops[0] ?? '',
        isUsed: true,
      }));
    const isSelf = routes.length > 0 && routes.every(({ nextHop }) => nextHop === this.name);
    const missing =
      this.#ended.size === 0 ? 'no End-of-RIB yet: missing routes may still arrive' : emptyNote;
    const router = seenRouter({
      kind: 'bgp',
      name: this.name,
      addresses: this.addresses,
      routes,
      complete,
      notes: [complete.size === 0 ? missing : undefined, isSelf ? selfNote : undefined],
      isPartly: isSelf,
    });
    this.#seen = { key, router };
    return router;
  }
}
