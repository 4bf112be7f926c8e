/**
 * The collector: the receiving side. It accepts sessions (or opens them), keeps for
 * every peer what that peer advertised, unprocessed, and reports every change. It
 * chooses no best path and forwards nothing: it observes and does not route.
 *
 * Underneath are a speaker with nothing to announce and the received routes of its
 * peers (rib/received-routes.ts), which see them through a graceful restart.
 */

import type { PeerSettings } from '../model/peer-settings.ts';
import type { Family } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import type { ReceivedRoute, RibChange } from './rib/adj-rib-in.ts';
import { ReceivedRoutes } from './rib/received-routes.ts';
import type { SessionWorld } from './session/session.ts';
import type { SessionEnd } from './session/session-events.ts';
import { type RefusedPeer, Speaker, type SpeakerOptions } from './speaker/speaker.ts';
import type { PeerView } from './speaker/speaker-peer.ts';
import { unicastOf } from './wire/afi-safi.ts';
import type { Nlri } from './wire/message.ts';

export interface CollectorOptions extends Pick<SpeakerOptions, 'listen' | 'dynamicNeighbor'> {
  /** Called after every UPDATE, and when routes leave without one. */
  onChange?: ((peer: string, change: RibChange) => void) | undefined;
  /** Called for every route that leaves. */
  onGone?: ((peer: string, prefix: Nlri) => void) | undefined;
  onUp?: ((peer: string) => void) | undefined;
  onDown?: ((peer: string, end: SessionEnd) => void) | undefined;
  world?: Partial<SessionWorld> | undefined;
}

export interface CollectedPeer extends PeerView {
  readonly routes: number;
  /** The session is gone and its routes are kept for a restart. */
  readonly isRestarting: boolean;
}

export class Collector {
  readonly #speaker: Speaker;
  readonly #received: ReceivedRoutes;

  constructor({ listen, dynamicNeighbor, world, ...options }: CollectorOptions = {}) {
    this.#received = new ReceivedRoutes(options);
    const { events } = this.#received;
    this.#speaker = new Speaker({
      listen,
      dynamicNeighbor,
      world,
      ...events,
      onUp: (peer, negotiated) => {
        events.onUp(peer, negotiated);
        options.onUp?.(peer.name);
      },
      onDown: (peer, end) => {
        events.onDown(peer, end);
        options.onDown?.(peer.name, end);
      },
    });
    this.#speaker.set([]);
  }

  async listen(): Promise<void> {
    await this.#speaker.listen();
  }

  get port(): number | undefined {
    return this.#speaker.port;
  }

  /** Declares all peers; the routes of those that are gone are forgotten. */
  setPeers(all: readonly PeerSettings[]): readonly RefusedPeer[] {
    const refused = this.#speaker.setPeers(all);
    const known = new Set(this.#speaker.peers().map((peer) => peer.name));
    for (const name of this.#received.peerNames()) {
      if (!known.has(name)) this.#received.forget(name);
    }
    return refused;
  }

  peers(): CollectedPeer[] {
    return this.#speaker.peers().map((view) => ({
      ...view,
      routes: this.#received.ribOf(view.name)?.size ?? 0,
      isRestarting: this.#received.isRestarting(view.name),
    }));
  }

  /** Has this peer advertised a route to the prefix, or to a piece of it? */
  holds(peer: string, prefix: Prefix): boolean {
    return this.#received.ribOf(peer)?.holds(prefix) ?? false;
  }

  /** Has any peer? */
  holdsAny(prefix: Prefix): boolean {
    return this.#received.peerNames().some((peer) => this.holds(peer, prefix));
  }

  /** How many routes of a family it has advertised. */
  countOf(peer: string, family: Family): number {
    return this.#received.ribOf(peer)?.sizeOf(unicastOf(family)) ?? 0;
  }

  /** What one peer has advertised. */
  routesOf(peer: string): ReceivedRoute[] {
    return this.#received.ribOf(peer)?.routes() ?? [];
  }

  forEachRoute(visit: (peer: string, route: ReceivedRoute) => void): void {
    for (const name of this.#received.peerNames()) {
      this.#received.ribOf(name)?.forEach((route) => {
        visit(name, route);
      });
    }
  }

  requestRefresh(peer: string, family: Family): boolean {
    return this.#speaker.requestRefresh(peer, family);
  }

  async close(): Promise<void> {
    for (const name of this.#received.peerNames()) this.#received.forget(name);
    await this.#speaker.close('drain');
  }
}
