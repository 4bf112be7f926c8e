/** One peer of the speaker: its session, what is advertised to it, and the view of both. */
import type { Socket } from 'node:net';
import type { Family } from '../../net/family.ts';
import { AdjRibOut } from '../rib/adj-rib-out.ts';
import type { AnnouncementTable, OriginatedRoute } from '../rib/announcement-table.ts';
import { Session, type SessionWorld } from '../session/session.ts';
import type { SessionCounters } from '../session/session-counters.ts';
import type { Cease, SessionEnd, SessionState } from '../session/session-events.ts';
import {
  familyOfWire,
  type Negotiated,
  type RestartEvidence,
  wireFamily,
} from '../session/session-negotiation.ts';
import {
  encodeRouteRefresh,
  errorCode,
  type RouteRefreshMessage,
  type UpdateMessage,
} from '../wire/message.ts';
import { ceaseSubcode } from '../wire/notification.ts';
import type { CompletePeer } from './complete-peer.ts';

export interface PeerView {
  readonly name: string;
  readonly address: string;
  readonly asn: number;
  readonly localAsn: number;
  readonly state: SessionState | 'Refused';
  readonly uptimeSeconds: number | undefined;
  readonly lastError: string | undefined;
  /** Our end of the session, while it is established. */
  readonly localAddress?: string | undefined;
  readonly families: readonly string[];
  readonly holdSeconds: number | undefined;
  readonly counters: SessionCounters | undefined;
  /** Prefixes advertised to the peer, and whether anything is still waiting. */
  readonly announced: number;
  readonly isInSync: boolean;
  /** In sync, and the peer's TCP has acknowledged it. */
  readonly isDelivered: boolean;
  /** Prefixes that cannot be encoded for this peer, with the reason. */
  readonly unencodable: Readonly<Record<string, string>>;
}

export interface PeerEvents {
  /** What the peer advertises; a speaker without a collector ignores it. */
  onUpdate?: ((peer: CompletePeer, update: UpdateMessage) => void) | undefined;
  onUp?: ((peer: CompletePeer, negotiated: Negotiated) => void) | undefined;
  onDown?: ((peer: CompletePeer, end: SessionEnd) => void) | undefined;
  /** RFC 7313: the peer begins (1) or ends (2) to repeat everything of a family. */
  onRefreshMark?: ((peer: CompletePeer, family: Family, mark: 'begin' | 'end') => void) | undefined;
}

export class SpeakerPeer {
  peer: CompletePeer;
  readonly #session: Session;
  readonly #rib: AdjRibOut;
  readonly #events: PeerEvents;
  #negotiated: Negotiated | undefined;
  #localAddress = '';
  #hasBeenUp = false;

  constructor(
    peer: CompletePeer,
    table: AnnouncementTable,
    world: SessionWorld,
    events: PeerEvents,
    evidence: (peer: CompletePeer) => RestartEvidence,
  ) {
    this.peer = peer;
    this.#rib = new AdjRibOut(table, peer.name);
    this.#events = events;
    this.#session = new Session(
      peer,
      {
        up: (negotiated, localAddress) => this.#onUp(negotiated, localAddress),
        down: (end) => this.#onDown(end),
        update: (update) => this.#events.onUpdate?.(this.peer, update),
        refresh: (refresh) => this.#onRefresh(refresh),
        nextUpdate: () => this.#rib.next(),
        evidence: () => this.#evidence(evidence(this.peer)),
      },
      world,
    );
  }

  start(): void {
    this.#session.start();
  }

  accept(socket: Socket): void {
    this.#session.accept(socket);
  }

  touch(routes: readonly OriginatedRoute[]): void {
    this.#rib.touch(routes);
    this.#session.kick();
  }

  /** Settings that need no reset. */
  setPeer(peer: CompletePeer): void {
    // Declared again, as on every round of an agent: nothing has to be looked at anew, and whoever
    // waits until everything is advertised is not kept waiting.
    if (JSON.stringify(peer) === JSON.stringify(this.peer)) return;
    this.peer = peer;
    this.#session.setPeer(peer);
    if (this.#negotiated === undefined) return;
    this.#rib.setContext(this.#context(this.#negotiated));
    this.#session.kick();
  }

  /** Asks the peer to repeat everything of a family (RFC 2918); false where it cannot. */
  requestRefresh(family: Family): boolean {
    const negotiated = this.#negotiated;
    if (!negotiated?.hasRouteRefresh || !negotiated.families.includes(family)) return false;
    this.#session.counters.sent.refreshes++;
    return this.#session.sendNow(encodeRouteRefresh({ ...wireFamily(family), subtype: 0 }));
  }

  /** Withdraws everything that was advertised to this peer. */
  drain(): void {
    this.#rib.drain();
    this.#session.kick();
  }

  get isDelivered(): boolean {
    return this.#negotiated === undefined || (this.#rib.isDone && this.#session.isDelivered());
  }

  /** Ends the session for good; the routes go with it. */
  stop(subcode: number, words?: string): void {
    this.#session.stop(this.#finalCease(subcode, words));
  }

  /** Ends the session to begin a new one with other settings: no need to drop routes meanwhile. */
  reset(): void {
    const restart = this.#negotiated?.gracefulRestart;
    // RFC 4724 §4: a NOTIFICATION would take the routes away; RFC 8538 lets it not.
    if (restart !== undefined && !restart.coversNotification) this.abandon();
    else this.#session.stop({ subcode: ceaseSubcode.configChange });
  }

  abandon(): void {
    this.#session.abandon();
  }

  settled(): Promise<void> {
    return this.#session.settled();
  }

  announced() {
    return this.#rib.announced();
  }

  view(): PeerView {
    return {
      name: this.peer.name,
      address: this.peer.address,
      asn: this.peer.asn,
      localAsn: this.peer.localAsn,
      state: this.#session.state,
      uptimeSeconds: this.#session.uptimeSeconds,
      lastError: this.#session.lastError,
      localAddress: this.#negotiated === undefined ? undefined : this.#localAddress,
      families: this.#negotiated?.families ?? [],
      holdSeconds: this.#negotiated?.holdSeconds,
      counters: this.#session.counters,
      announced: this.#rib.announcedCount,
      isInSync: this.#negotiated !== undefined && this.#rib.isDone,
      isDelivered: this.#negotiated !== undefined && this.isDelivered,
      unencodable: Object.fromEntries(this.#rib.unencodable),
    };
  }

  /** RFC 8538 §3.1: where both set the N-bit, only a Hard Reset makes the peer drop the routes. */
  #finalCease(subcode: number, words: string | undefined): Cease {
    const isCovered = this.#negotiated?.gracefulRestart?.coversNotification === true;
    if (!isCovered) return { subcode, ...(words === undefined ? {} : { words }) };
    return {
      subcode: ceaseSubcode.hardReset,
      data: Uint8Array.from([errorCode.cease, subcode]),
    };
  }

  /** RFC 4724 §3: the R-bit speaks of the restart before this session, not of all later ones. */
  #evidence(evidence: RestartEvidence): RestartEvidence {
    return { ...evidence, hasRestarted: evidence.hasRestarted && !this.#hasBeenUp };
  }

  #context(negotiated: Negotiated) {
    return { peer: this.peer, negotiated, localAddress: this.#localAddress };
  }

  #onUp(negotiated: Negotiated, localAddress: string): void {
    this.#negotiated = negotiated;
    this.#localAddress = localAddress;
    this.#hasBeenUp = true;
    this.#rib.open(this.#context(negotiated));
    this.#events.onUp?.(this.peer, negotiated);
  }

  #onDown(end: SessionEnd): void {
    this.#negotiated = undefined;
    this.#rib.close();
    this.#events.onDown?.(this.peer, end);
  }

  #onRefresh(refresh: RouteRefreshMessage): void {
    const family = familyOfWire(refresh.afi, refresh.safi);
    if (family === undefined) return;
    // RFC 7313 §4: subtypes 1 and 2 mark the peer's own answers; only 0 is a question to us.
    if (refresh.subtype === 0 && this.#rib.refresh(family)) this.#session.kick();
    if (refresh.subtype === 1) this.#events.onRefreshMark?.(this.peer, family, 'begin');
    if (refresh.subtype === 2) this.#events.onRefreshMark?.(this.peer, family, 'end');
  }
}
