/**
 * A router that reports over BMP. What it holds is known for a family when
 *  - it has sent a route of that family: which views and families a router monitors is its
 *    configuration, and a view that is not monitored looks like one without routes;
 *  - every neighbor that is up and speaks of the family is whole: End-of-RIB came, or its
 *    session began while we were listening, so that we have heard all of it;
 *  - no message about routes was lost on us;
 *  - it is not silent: a router that sends statistics sends them at an even pace. One that
 *    sends none is only known to be there, by TCP.
 */
import type { MonitoredPeer } from '../bgp/bmp/monitored-peer.ts';
import { isUnspecified, type MonitoredRouter } from '../bgp/bmp/monitored-router.ts';
import { locRibPeerType } from '../bgp/bmp/peer-header.ts';
import { familyOf, unicastOf } from '../bgp/wire/afi-safi.ts';
import { parseAddress } from '../net/address.ts';
import { type Family, families } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import type { RouterRoute } from '../plan/doctor/evidence.ts';
import { CompleteSince } from './complete-since.ts';
import {
  type ConnectedRouter,
  prefixOf,
  type RouterNeighbor,
  type SeenRouter,
  seenRouter,
} from './connected-router.ts';
import { GoneTimes } from './gone-times.ts';

/** A router names the neighbors that are up as soon as it has connected (RFC 7854 §3.3). */
const firstNeighborsMs = 10_000;
/** A later one without End-of-RIB is whole when it has sent nothing more for so long. */
const quietMs = 60_000;
/** Statistics may be late by twice their pace, and a little. */
const lateStatistics = 3;
const lateMs = 5_000;

interface Heard {
  upMs: number;
  updates: number;
  lastUpdateMs: number;
}

export class BmpRouter implements ConnectedRouter {
  readonly by = 'bmp';
  readonly #router: MonitoredRouter;
  readonly #connectedMs: number;
  readonly #complete = new CompleteSince();
  readonly #goneRoutes = new GoneTimes<Prefix>();
  readonly #goneSessions = new GoneTimes<string>();
  readonly #heard = new WeakMap<MonitoredPeer, Heard>();
  readonly #addresses: Set<string>;
  #lookedMs: number;
  #lastMessageMs: number;
  #lastStatisticsMs: number | undefined;
  #statisticsEveryMs = 0;
  #messages = 0;
  #statistics = 0;
  #seen: { key: string; router: SeenRouter } | undefined;

  constructor(router: MonitoredRouter, now: () => number) {
    this.#router = router;
    this.#connectedMs = now();
    this.#lookedMs = this.#connectedMs;
    this.#lastMessageMs = this.#connectedMs;
    this.#addresses = new Set([router.remoteAddress]);
    router.events = {
      onGone: (nlri) => this.#goneRoutes.note(prefixOf(nlri), now()),
      onPeerUp: (peer) => {
        if (peer.localAddress !== undefined) this.#addresses.add(peer.localAddress);
        const upMs = now();
        this.#heard.set(peer, { upMs, updates: 0, lastUpdateMs: upMs });
      },
      onPeerDown: ({ address }) => this.#goneSessions.note(address, now()),
    };
  }

  get name(): string {
    return this.#router.sysName || this.#router.remoteAddress;
  }

  get addresses(): ReadonlySet<string> {
    return this.#addresses;
  }

  get asn(): number {
    return this.#router.peers.find(({ localAsn }) => localAsn !== undefined)?.localAsn ?? 0;
  }

  get neighbors(): RouterNeighbor[] {
    return this.#neighbors(false).map((peer) => ({
      address: peer.address,
      upSinceMs: peer.upSinceMs,
      routes: this.#countOf(peer),
    }));
  }

  get routeCount(): number {
    return this.#router.peers.reduce((sum, peer) => sum + this.#countOf(peer), 0);
  }

  get completeSinceMs(): Readonly<Partial<Record<Family, number>>> {
    return this.#complete.sinceMs;
  }

  lastRouteMs(prefix: Prefix): number | undefined {
    if (this.#router.peers.some((peer) => peer.holds(prefix))) return Number.POSITIVE_INFINITY;
    return this.#goneRoutes.last((gone) => prefix.contains(gone));
  }

  lastSessionMs(neighbor: string): number | undefined {
    const address = parseAddress(neighbor)?.toString() ?? neighbor;
    if (this.#neighbors(false).some((peer) => peer.address === address)) {
      return Number.POSITIVE_INFINITY;
    }
    return this.#goneSessions.last((gone) => gone === address);
  }

  startOver(): void {
    this.#complete.reset();
  }

  look(nowMs: number): void {
    this.#lookedMs = nowMs;
    this.#noteMessages(nowMs);
    const complete = families.filter((family) => this.#missing(family, nowMs) === undefined);
    this.#complete.set(complete, nowMs);
  }

  seen(): SeenRouter {
    const complete = this.#complete.families;
    const missing = families
      .filter((family) => !complete.has(family))
      .map((family) => this.#missing(family, this.#lookedMs));
    const key = [this.#messages, ...complete, ...missing].join();
    if (this.#seen?.key === key) return this.#seen.router;
    const [why] = missing.filter((one) => one !== undefined);
    const views = new Set(families.map((family) => this.#router.nearestView(family)));
    const routes = this.#router.peers.flatMap((peer) => this.#nearest(peer));
    const router = seenRouter({
      kind: 'bmp',
      name: this.name,
      addresses: this.#addresses,
      routes,
      complete,
      notes: [
        complete.size === 0 ? why : undefined,
        ...[...views].map((view) =>
          view === undefined || view === 'loc-rib'
            ? undefined
            : `what its peers advertised to it (${view}), not which path it chose`,
        ),
        this.#router.faults > 0
          ? `${this.#router.faults} messages could not be read: ${this.#router.lastFault}`
          : undefined,
      ],
    });
    this.#seen = { key, router };
    return router;
  }

  /** Why a family is not known whole; undefined: it is. */
  #missing(family: Family, nowMs: number): string | undefined {
    const view = this.#router.nearestView(family);
    if (this.#router.unreadRoutes > 0) return 'messages about routes could not be read';
    if (this.#isSilent(nowMs)) {
      return `silent: it used to send statistics every ${Math.round(this.#statisticsEveryMs / 1000)} s`;
    }
    if (view === undefined) return 'it has sent no route yet, so what it reports is not known';
    const neighbors = this.#neighbors(view === 'loc-rib').filter((peer) =>
      peer.mayCarry(unicastOf(family)),
    );
    const isWhole = (peer: MonitoredPeer) =>
      peer.completeFamilies(view).some((one) => familyOf(one) === family) ||
      peer.isNewSession ||
      this.#isQuiet(peer, nowMs);
    const unfinished = neighbors.find((peer) => !isWhole(peer));
    if (unfinished !== undefined || (view === 'loc-rib' && neighbors.length === 0)) {
      const whose = unfinished?.address ?? view;
      return `no End-of-RIB yet (${whose}): missing routes may still arrive`;
    }
    return undefined;
  }

  #noteMessages(nowMs: number): void {
    const { messages, statistics, peers } = this.#router;
    if (messages !== this.#messages) this.#lastMessageMs = nowMs;
    this.#messages = messages;
    if (statistics !== this.#statistics) {
      const gapMs = nowMs - (this.#lastStatisticsMs ?? nowMs);
      this.#statisticsEveryMs = Math.max(this.#statisticsEveryMs, gapMs);
      this.#lastStatisticsMs = nowMs;
    }
    this.#statistics = statistics;
    for (const peer of peers) {
      const heard = this.#heard.get(peer);
      if (heard === undefined || heard.updates === peer.updates) continue;
      heard.updates = peer.updates;
      heard.lastUpdateMs = nowMs;
    }
  }

  /** Without a neighbor there is nothing to send statistics of. */
  #isSilent(nowMs: number): boolean {
    if (this.#statisticsEveryMs === 0 || this.#neighbors(false).length === 0) return false;
    return nowMs - this.#lastMessageMs > lateStatistics * this.#statisticsEveryMs + lateMs;
  }

  #isQuiet(peer: MonitoredPeer, nowMs: number): boolean {
    const heard = this.#heard.get(peer);
    if (heard === undefined || heard.upMs - this.#connectedMs < firstNeighborsMs) return false;
    return nowMs - heard.lastUpdateMs >= quietMs;
  }

  /** What the router originates itself comes from no neighbor, and needs no End-of-RIB. */
  #neighbors(ofLocRib: boolean): MonitoredPeer[] {
    const peers = this.#router.peers;
    return ofLocRib
      ? peers.filter(({ peerType }) => peerType === locRibPeerType)
      : peers.filter(
          ({ peerType, address }) => peerType !== locRibPeerType && !isUnspecified(address),
        );
  }

  #countOf(peer: MonitoredPeer): number {
    return families.reduce((sum, family) => {
      const view = this.#router.nearestView(family);
      return sum + (view === undefined ? 0 : (peer.rib(view)?.sizeOf(unicastOf(family)) ?? 0));
    }, 0);
  }

  /** Its routes, each family by the view that says most. */
  #nearest(peer: MonitoredPeer): RouterRoute[] {
    const routes: RouterRoute[] = [];
    const nearest = {
      ipv4: this.#router.nearestView('ipv4'),
      ipv6: this.#router.nearestView('ipv6'),
    };
    for (const view of peer.views) {
      peer.rib(view)?.forEach(({ prefix, nextHops }) => {
        const known = prefixOf(prefix);
        if (nearest[known.family] !== view) return;
        const [nextHop = ''] = nextHops;
        const isOwn = isUnspecified(nextHop);
        routes.push({
          prefix: known,
          nextHop: isOwn ? '' : nextHop,
          isUsed: true,
          from: peer.address,
        });
      });
    }
    return routes;
  }
}
