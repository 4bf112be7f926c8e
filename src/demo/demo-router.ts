/**
 * A router of the site: our collector, to which the nodes announce over real BGP.
 * It can be killed (its sockets close without a NOTIFICATION, its routes are gone)
 * and started again; the nodes' speakers reconnect by themselves.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type CollectedPeer, Collector } from '../bgp/collector.ts';
import type { HeldRouteRow, RouterView } from '../console/router-view.ts';
import { families } from '../net/family.ts';
import type { HeardRouter } from '../plan/blocks/heard-routers.ts';
import type { RouterRoute } from '../plan/doctor/evidence.ts';
import { prefixOf, type SeenRouter, seenRouter } from '../witness/connected-router.ts';
import type { Cabling, Socket } from './cabling.ts';
import { HeardDemoRouter } from './heard-demo-router.ts';
import { calmHoldSeconds, type SitedRouter } from './site-plan.ts';

interface DemoRouterOptions {
  router: SitedRouter;
  /** A loopback address that is this router's alone. */
  host: string;
  cabling: Cabling;
  clock: Clock;
  log: Log;
  onChange: () => void;
}

export class DemoRouter {
  readonly name: string;
  readonly #o: DemoRouterOptions;
  #collector: Collector | undefined;
  #heard: HeardDemoRouter | undefined;
  #port = 0;
  /** When each route was first heard: the age that people ask for. */
  readonly #heardMs = new Map<string, number>();
  readonly #sessionSince = new Map<string, { state: string; sinceMs: number }>();

  constructor(options: DemoRouterOptions) {
    this.#o = options;
    this.name = options.router.name;
  }

  get isUp(): boolean {
    return this.#collector !== undefined;
  }

  get socket(): Socket {
    return { host: this.#o.host, port: this.#port };
  }

  async start(): Promise<void> {
    if (this.#collector !== undefined) return;
    const { router, host, cabling, clock, log, onChange } = this.#o;
    const heard = new HeardDemoRouter(() => clock.monotonicMs());
    const collector = new Collector({
      // The same port again, so that the nodes find what they look for.
      listen: { address: host, port: this.#port },
      dynamicNeighbor: (loopback) => {
        const node = cabling.nodeAt(loopback);
        if (node === undefined) return undefined;
        return {
          address: loopback,
          name: `${node}@${loopback}`,
          asn: router.nodeAsn,
          localAsn: router.asn,
          routerId: router.address,
          families: ['ipv4', 'ipv6'],
          gracefulRestartSeconds: 120,
          // The smaller of two counts (RFC 4271 §4.2): the BGPPeer says it.
          holdSeconds: calmHoldSeconds,
        };
      },
      onChange,
      onGone: (_peer, prefix) => heard.routeGone(prefix.toString()),
      onUp: (peer) => {
        heard.sessionUp(peer, cabling.addressesOf(nodeName(peer)));
        onChange();
      },
      onDown: (peer) => {
        heard.sessionDown(peer);
        onChange();
      },
      world: { log },
    });
    await collector.listen();
    this.#port = collector.port ?? 0;
    cabling.plugRouter(router.address, this.socket);
    this.#collector = collector;
    this.#heard = heard;
    onChange();
  }

  async stop(): Promise<void> {
    const collector = this.#collector;
    this.#collector = undefined;
    this.#heardMs.clear();
    await collector?.close();
    this.#o.onChange();
  }

  /** What the operator hears of it; nothing while it is stopped. */
  heard(): HeardRouter | undefined {
    const collector = this.#collector;
    return (
      collector &&
      this.#heard?.as(this.name, this.#o.router.address, (prefix) => collector.holdsAny(prefix))
    );
  }

  /** The same for the operator's comparison. */
  seen(): SeenRouter {
    const collector = this.#collector;
    const routes: RouterRoute[] = [];
    collector?.forEachRoute((_peer, { prefix, nextHops }) => {
      routes.push({ prefix: prefixOf(prefix), nextHop: nextHops[0] ?? '', isUsed: true });
    });
    return seenRouter({
      ...{ kind: 'bmp', name: this.name, addresses: [this.#o.router.address], routes },
      complete: new Set(collector === undefined ? [] : families),
      notes: [collector === undefined ? 'it is stopped' : undefined],
    });
  }

  view(): RouterView {
    const { router } = this.#o;
    const collector = this.#collector;
    return {
      name: this.name,
      addresses: [router.address],
      asn: router.asn,
      isUp: collector !== undefined,
      sessions: (collector?.peers() ?? []).map((peer) => this.#session(peer)),
      held: collector === undefined ? [] : this.#held(collector),
    };
  }

  #session({ name, state, routes, isRestarting }: CollectedPeer): RouterView['sessions'][number] {
    const before = this.#sessionSince.get(name);
    const sinceMs = before?.state === state ? before.sinceMs : Date.now();
    this.#sessionSince.set(name, { state, sinceMs });
    return { node: nodeName(name), state, sinceMs, routes, isRestarting };
  }

  #held(collector: Collector): HeldRouteRow[] {
    const held: HeldRouteRow[] = [];
    const seen = new Set<string>();
    collector.forEachRoute((peer, route) => {
      const prefix = route.prefix.toString();
      const key = `${peer} ${prefix}`;
      seen.add(key);
      if (!this.#heardMs.has(key)) this.#heardMs.set(key, Date.now());
      held.push({
        prefix,
        nextHop: route.nextHops[0] ?? '',
        from: nodeName(peer),
        sinceMs: this.#heardMs.get(key) ?? 0,
        isStale: route.stale,
      });
    });
    for (const key of this.#heardMs.keys()) if (!seen.has(key)) this.#heardMs.delete(key);
    return held.sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
  }
}

function nodeName(peer: string): string {
  return peer.slice(0, peer.lastIndexOf('@'));
}
