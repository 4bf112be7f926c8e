/**
 * The collector: the receiving side. It accepts sessions (or opens them), keeps
 * for every peer what that peer said, unprocessed, and tells whoever listens that
 * something changed. It chooses no best path and forwards nothing: it is a
 * witness, not a router.
 *
 * It helps a peer through its restart (RFC 4724 §4.2): when the session ends in a
 * way that keeps routes, they stay, marked stale, until the peer has repeated
 * them, has said End-of-RIB, or has had its time. A family the peer does not list
 * again, or lists without its forwarding bit, is dropped at once, because then
 * nothing forwards these packets any more. The same marks serve an answered route
 * refresh (RFC 7313 §4).
 *
 * Underneath it is a speaker with nothing to say.
 */

import type { PeerSettings } from '../model/peer-settings.ts';
import type { Family } from '../net/family.ts';
import { families } from '../net/family.ts';
import { AdjRibIn, type ReceivedRoute, type RibChange } from './rib/adj-rib-in.ts';
import type { SessionWorld } from './session/session.ts';
import type { SessionEnd } from './session/session-events.ts';
import {
  type Negotiated,
  type PeerGracefulRestart,
  wireFamily,
} from './session/session-negotiation.ts';
import type { CompletePeer } from './speaker/complete-peer.ts';
import { type RefusedPeer, Speaker } from './speaker/speaker.ts';
import type { PeerView } from './speaker/speaker-peer.ts';
import type { ListenTarget } from './transport/listen.ts';
import type { UpdateMessage } from './wire/message.ts';

export interface CollectorOptions {
  listen?: ListenTarget | false | undefined;
  /** Settings for an address nobody has declared, or undefined to turn it away. */
  welcome?: ((address: string) => PeerSettings | undefined) | undefined;
  /** Called after every UPDATE, and when routes leave without one. */
  onChange?: ((peer: string, change: RibChange) => void) | undefined;
  onUp?: ((peer: string) => void) | undefined;
  onDown?: ((peer: string, end: SessionEnd) => void) | undefined;
  world?: Partial<SessionWorld> | undefined;
}

export interface CollectedPeer extends PeerView {
  readonly routes: number;
  /** The session is gone and its routes are kept for a restart. */
  readonly isRestarting: boolean;
}

/** The longest a repeated table may take before what is stale goes anyway. */
const stalePathMs = 360_000;

interface Collected {
  readonly rib: AdjRibIn;
  gracefulRestart: PeerGracefulRestart | undefined;
  isRestarting: boolean;
  timer: NodeJS.Timeout | undefined;
}

export class Collector {
  readonly #options: CollectorOptions;
  readonly #speaker: Speaker;
  readonly #collected = new Map<string, Collected>();

  constructor(options: CollectorOptions = {}) {
    this.#options = options;
    this.#speaker = new Speaker({
      listen: options.listen,
      world: options.world,
      welcome: options.welcome,
      onUp: (peer, negotiated) => this.#onUp(peer, negotiated),
      onDown: (peer, end) => this.#onDown(peer, end),
      onUpdate: (peer, update) => this.#onUpdate(peer, update),
      onRefreshMark: (peer, family, mark) => this.#onRefreshMark(peer, family, mark),
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
    for (const [name, collected] of this.#collected) {
      if (known.has(name)) continue;
      clearTimeout(collected.timer);
      this.#collected.delete(name);
    }
    return refused;
  }

  peers(): CollectedPeer[] {
    return this.#speaker.peers().map((view) => {
      const collected = this.#collected.get(view.name);
      return {
        ...view,
        routes: collected?.rib.size ?? 0,
        isRestarting: collected?.isRestarting ?? false,
      };
    });
  }

  /** What one peer has said. */
  routesOf(peer: string): ReceivedRoute[] {
    return this.#collected.get(peer)?.rib.routes() ?? [];
  }

  forEachRoute(visit: (peer: string, route: ReceivedRoute) => void): void {
    for (const [name, { rib }] of this.#collected) {
      rib.forEach((route) => {
        visit(name, route);
      });
    }
  }

  requestRefresh(peer: string, family: Family): boolean {
    return this.#speaker.requestRefresh(peer, family);
  }

  async close(): Promise<void> {
    for (const { timer } of this.#collected.values()) clearTimeout(timer);
    await this.#speaker.close('drain');
  }

  #of(peer: CompletePeer): Collected {
    let collected = this.#collected.get(peer.name);
    if (collected === undefined) {
      const rib = new AdjRibIn(peer.families.map(wireFamily));
      collected = { rib, gracefulRestart: undefined, isRestarting: false, timer: undefined };
      this.#collected.set(peer.name, collected);
    }
    return collected;
  }

  #onUp(peer: CompletePeer, negotiated: Negotiated): void {
    const collected = this.#of(peer);
    clearTimeout(collected.timer);
    if (collected.isRestarting) {
      // RFC 4724 §4.2: without the family, or without its F-bit, its routes lead nowhere now.
      const lost = families.filter(
        (family) => negotiated.gracefulRestart?.families.get(family)?.forwarding !== true,
      );
      this.#sweep(peer, collected, lost);
      collected.timer = setTimeout(() => this.#sweep(peer, collected, families), stalePathMs);
      collected.timer.unref();
    }
    collected.isRestarting = false;
    collected.gracefulRestart = negotiated.gracefulRestart;
    this.#options.onUp?.(peer.name);
  }

  #onDown(peer: CompletePeer, end: SessionEnd): void {
    const collected = this.#of(peer);
    const { rib, gracefulRestart } = collected;
    clearTimeout(collected.timer);
    const kept = end.keepsRoutes ? [...(gracefulRestart?.families.keys() ?? [])] : [];
    // RFC 4724 §4.2: what is still stale from the last restart does not get a second chance.
    this.#sweep(peer, collected, families);
    for (const family of families) rib.markStale(wireFamily(family));
    const dropped = families.filter((family) => !kept.includes(family));
    this.#sweep(peer, collected, dropped);
    collected.isRestarting = kept.length > 0;
    if (gracefulRestart !== undefined && kept.length > 0) {
      collected.timer = setTimeout(() => {
        collected.isRestarting = false;
        this.#sweep(peer, collected, families);
      }, gracefulRestart.restartSeconds * 1000);
      collected.timer.unref();
    }
    this.#options.onDown?.(peer.name, end);
  }

  #onUpdate(peer: CompletePeer, update: UpdateMessage): void {
    const change = this.#of(peer).rib.apply(update);
    this.#options.onChange?.(peer.name, change);
  }

  #onRefreshMark(peer: CompletePeer, family: Family, mark: 'begin' | 'end'): void {
    const collected = this.#of(peer);
    if (mark === 'begin') collected.rib.markStale(wireFamily(family));
    else this.#sweep(peer, collected, [family]);
  }

  #sweep(peer: CompletePeer, { rib }: Collected, which: readonly Family[]): void {
    let withdrawn = 0;
    for (const family of which) withdrawn += rib.sweepStale(wireFamily(family));
    if (withdrawn > 0) this.#options.onChange?.(peer.name, { announced: 0, withdrawn });
  }
}
