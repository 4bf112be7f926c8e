/**
 * What all peers have told us: an Adj-RIB-In each, fed by the events of a
 * speaker. It plays the receiving speaker of RFC 4724 §4.2: when a session ends
 * in a way that keeps routes, they stay, marked stale, until the peer repeats
 * them, says End-of-RIB, comes back without the promise to have kept
 * forwarding, or does not come back in the time it asked for.
 *
 *   const received = new ReceivedRoutes();
 *   const speaker = new Speaker({ ...received.events, listen: { port: 179 } });
 */
import type { Family } from '../../net/family.ts';
import type { SessionEnd } from '../session/session-events.ts';
import { type Negotiated, wireFamily } from '../session/session-negotiation.ts';
import type { CompletePeer } from '../speaker/complete-peer.ts';
import type { PeerEvents } from '../speaker/speaker-peer.ts';
import type { UpdateMessage } from '../wire/message.ts';
import { AdjRibIn } from './adj-rib-in.ts';

/** Calls back after so many milliseconds unless cancelled. */
export type Schedule = (afterMs: number, then: () => void) => () => void;

interface PeerRoutes {
  rib: AdjRibIn;
  negotiated: Negotiated | undefined;
  families: readonly Family[];
  cancelTimer: () => void;
}

/** RFC 4724 §4.2 asks for a bound on how long a peer that came back may take to End-of-RIB. */
const endOfRibMs = 360_000;

const realSchedule: Schedule = (afterMs, then) => {
  const timer = setTimeout(then, afterMs);
  timer.unref();
  return () => clearTimeout(timer);
};

const nothing = () => {};

export class ReceivedRoutes {
  readonly #peers = new Map<string, PeerRoutes>();
  readonly #schedule: Schedule;

  constructor(schedule: Schedule = realSchedule) {
    this.#schedule = schedule;
  }

  /** To be given to the speaker. */
  readonly events = {
    onUp: (peer: CompletePeer, negotiated: Negotiated) => this.#onUp(peer, negotiated),
    onDown: (peer: CompletePeer, end: SessionEnd) => this.#onDown(peer, end),
    onUpdate: (peer: CompletePeer, update: UpdateMessage) => this.#onUpdate(peer, update),
  } satisfies PeerEvents;

  /** The routes of one peer by its name; undefined if it has never been up. */
  ribOf(peerName: string): AdjRibIn | undefined {
    return this.#peers.get(peerName)?.rib;
  }

  peerNames(): string[] {
    return [...this.#peers.keys()];
  }

  /** The peer was taken out of the configuration. */
  forget(peerName: string): void {
    this.#peers.get(peerName)?.cancelTimer();
    this.#peers.delete(peerName);
  }

  #onUp(peer: CompletePeer, negotiated: Negotiated): void {
    const before = this.#peers.get(peer.name);
    before?.cancelTimer();
    const sameFamilies =
      before !== undefined && before.families.join() === negotiated.families.join();
    const rib = sameFamilies ? before.rib : new AdjRibIn(negotiated.families.map(wireFamily));
    const routes: PeerRoutes = {
      rib,
      negotiated,
      families: negotiated.families,
      cancelTimer: nothing,
    };
    this.#peers.set(peer.name, routes);
    if (rib.size === 0) return;
    for (const family of negotiated.families) {
      // Not listed, or forwarding not kept: what we hold of it is not true any more.
      const kept = negotiated.gracefulRestart?.families.get(family)?.forwarding === true;
      if (!kept) rib.sweepStale(wireFamily(family));
    }
    routes.cancelTimer = this.#schedule(endOfRibMs, () => sweep(routes));
  }

  #onDown(peer: CompletePeer, end: SessionEnd): void {
    const routes = this.#peers.get(peer.name);
    if (routes === undefined) return;
    routes.cancelTimer();
    const restart = routes.negotiated?.gracefulRestart;
    routes.negotiated = undefined;
    if (!end.keepsRoutes || restart === undefined) {
      routes.rib.clear();
      return;
    }
    for (const family of routes.families) {
      // RFC 4724 §4.2: routes still stale from the last restart go now.
      routes.rib.sweepStale(wireFamily(family));
      routes.rib.markStale(wireFamily(family));
      if (!restart.families.has(family)) routes.rib.sweepStale(wireFamily(family));
    }
    routes.cancelTimer = this.#schedule(restart.restartSeconds * 1000, () => sweep(routes));
  }

  #onUpdate(peer: CompletePeer, update: UpdateMessage): void {
    this.#peers.get(peer.name)?.rib.apply(update);
  }
}

function sweep(routes: PeerRoutes): void {
  for (const family of routes.families) routes.rib.sweepStale(wireFamily(family));
}
