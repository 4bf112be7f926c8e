/**
 * What all peers have advertised to us: an Adj-RIB-In each, fed by the events of a
 * speaker.
 *
 *   const received = new ReceivedRoutes();
 *   const speaker = new Speaker({ ...received.events, listen: { port: 179 } });
 *
 * It is the receiving speaker of RFC 4724 §4.2. When a session ends in a way that
 * keeps routes, they stay, marked stale, until the peer has repeated them, has sent
 * End-of-RIB, or has not come back in the restart time it asked for. A family that
 * the peer does not list again, or lists without its forwarding bit, is dropped at
 * once: nothing forwards these packets any more. What is still stale from one restart
 * when the next one begins goes too. The same marks serve an answered route refresh
 * (RFC 7313 §4).
 */

import { timerMs } from '../../base/timer-ms.ts';
import type { Family } from '../../net/family.ts';
import type { SessionEnd } from '../session/session-events.ts';
import { type Negotiated, wireFamily } from '../session/session-negotiation.ts';
import type { CompletePeer } from '../speaker/complete-peer.ts';
import type { PeerEvents } from '../speaker/speaker-peer.ts';
import type { Nlri, UpdateMessage } from '../wire/message.ts';
import { AdjRibIn, type RibChange } from './adj-rib-in.ts';

/** Calls back after so many milliseconds unless cancelled. */
export type Schedule = (afterMs: number, then: () => void) => () => void;

interface ReceivedRoutesOptions {
  readonly schedule?: Schedule;
  /** Called after every UPDATE, and when routes leave without one. */
  readonly onChange?: ((peerName: string, change: RibChange) => void) | undefined;
  /** Called for every route that leaves. */
  readonly onGone?: ((peerName: string, prefix: Nlri) => void) | undefined;
}

interface PeerRoutes {
  readonly rib: AdjRibIn;
  readonly families: readonly Family[];
  /** Of the running session. */
  negotiated: Negotiated | undefined;
  /** The session is gone and its routes are kept for a restart. */
  isRestarting: boolean;
  cancelTimer: () => void;
}

/** RFC 4724 §4.2 asks for a bound on how long a peer that came back may take to End-of-RIB. */
const endOfRibMs = 360_000;

const realSchedule: Schedule = (afterMs, then) => {
  const timer = setTimeout(then, timerMs(afterMs));
  timer.unref();
  return () => clearTimeout(timer);
};

const nothing = () => {};

export class ReceivedRoutes {
  readonly #peers = new Map<string, PeerRoutes>();
  readonly #schedule: Schedule;
  readonly #onChange: NonNullable<ReceivedRoutesOptions['onChange']>;
  readonly #onGone: ReceivedRoutesOptions['onGone'];

  constructor({ schedule = realSchedule, onChange = nothing, onGone }: ReceivedRoutesOptions = {}) {
    this.#schedule = schedule;
    this.#onGone = onGone;
    this.#onChange = onChange;
  }

  /** To be given to the speaker. */
  readonly events = {
    onUp: (peer: CompletePeer, negotiated: Negotiated) => this.#onUp(peer.name, negotiated),
    onDown: (peer: CompletePeer, end: SessionEnd) => this.#onDown(peer.name, end),
    onUpdate: (peer: CompletePeer, update: UpdateMessage) => this.#onUpdate(peer.name, update),
    onRefreshMark: (peer: CompletePeer, family: Family, mark: 'begin' | 'end') =>
      this.#onRefreshMark(peer.name, family, mark),
  } satisfies PeerEvents;

  /** The routes of one peer by its name; undefined if it has never been up. */
  ribOf(peerName: string): AdjRibIn | undefined {
    return this.#peers.get(peerName)?.rib;
  }

  isRestarting(peerName: string): boolean {
    return this.#peers.get(peerName)?.isRestarting ?? false;
  }

  peerNames(): string[] {
    return [...this.#peers.keys()];
  }

  /** The peer was taken out of the configuration. */
  forget(peerName: string): void {
    this.#peers.get(peerName)?.cancelTimer();
    this.#peers.delete(peerName);
  }

  #onUp(name: string, negotiated: Negotiated): void {
    const { families, gracefulRestart } = negotiated;
    const before = this.#peers.get(name);
    before?.cancelTimer();
    const isSame = before !== undefined && before.families.join() === families.join();
    const rib = isSame ? before.rib : this.#newRib(name, families);
    const routes: PeerRoutes = {
      rib,
      families,
      negotiated,
      isRestarting: false,
      cancelTimer: nothing,
    };
    this.#peers.set(name, routes);
    if (!isSame && before !== undefined) {
      const { size } = before.rib;
      before.rib.clear();
      this.#withdrawn(name, size);
    }
    if (rib.size === 0) return;
    const lost = families.filter((one) => gracefulRestart?.families.get(one)?.forwarding !== true);
    this.#sweep(name, rib, lost);
    routes.cancelTimer = this.#schedule(endOfRibMs, () => this.#sweep(name, rib, families));
  }

  #newRib(name: string, families: readonly Family[]): AdjRibIn {
    const onGone = this.#onGone;
    const gone = onGone && ((prefix: Nlri) => onGone(name, prefix));
    return new AdjRibIn(families.map(wireFamily), gone);
  }

  #onDown(name: string, end: SessionEnd): void {
    const routes = this.#peers.get(name);
    if (routes === undefined) return;
    const { rib, families } = routes;
    const restart = end.keepsRoutes ? routes.negotiated?.gracefulRestart : undefined;
    routes.cancelTimer();
    routes.negotiated = undefined;
    this.#sweep(name, rib, families);
    for (const family of families) rib.markStale(wireFamily(family));
    this.#sweep(
      name,
      rib,
      families.filter((family) => restart?.families.has(family) !== true),
    );
    routes.isRestarting = restart !== undefined && restart.families.size > 0;
    if (restart === undefined || !routes.isRestarting) return;
    routes.cancelTimer = this.#schedule(restart.restartSeconds * 1000, () => {
      routes.isRestarting = false;
      this.#sweep(name, rib, families);
    });
  }

  #onUpdate(name: string, update: UpdateMessage): void {
    const change = this.#peers.get(name)?.rib.apply(update);
    if (change !== undefined) this.#onChange(name, change);
  }

  #onRefreshMark(name: string, family: Family, mark: 'begin' | 'end'): void {
    const rib = this.ribOf(name);
    if (mark === 'begin') rib?.markStale(wireFamily(family));
    else if (rib !== undefined) this.#sweep(name, rib, [family]);
  }

  /** Removes what is still stale. */
  #sweep(name: string, rib: AdjRibIn, families: readonly Family[]): void {
    let withdrawn = 0;
    for (const family of families) withdrawn += rib.sweepStale(wireFamily(family));
    this.#withdrawn(name, withdrawn);
  }

  #withdrawn(name: string, withdrawn: number): void {
    if (withdrawn > 0) this.#onChange(name, { announced: 0, withdrawn });
  }
}
