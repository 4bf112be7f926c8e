/**
 * The speaker: a set of peers and a set of announcements, both declared whole.
 *
 *   setPeers(all) ─▶ who is new, gone, changed ─▶ a session for each
 *   set(all) ─▶ table: which prefixes changed ─▶ Adj-RIB-Out of each peer ─▶ UPDATEs
 *
 * Nobody outside steps it from one state to the next: it compares what is
 * declared with what was declared and does the difference. A peer whose new
 * settings do not touch the OPEN or the TCP connection keeps its session. A peer
 * that cannot be served here (TCP-MD5 without koffi) is refused with the reason,
 * and the others run.
 *
 * Sessions begin with the first `set`, not before: a router that has kept our
 * routes through a restart drops those we have not repeated when End-of-RIB
 * arrives (RFC 4724 §4.2), so we do not connect until we know what to advertise.
 *
 * There are two exits. `close('restart')` sends nothing: TCP ends, routers that
 * agreed to graceful restart keep the routes and the traffic flows on.
 * `close('drain')` withdraws everything, waits until the peers have acknowledged
 * it, then sends Cease (or Hard Reset, RFC 8538). Mixing them up costs either an
 * outage or a blackhole, so there is no default.
 *
 * RFCs: 4271 §9.2, 1997, 2918, 4486, 4724, 7313, 8092, 8326, 8538, 8950.
 */
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { type PeerSettings, settingThatNeedsReset } from '../../model/peer-settings.ts';
import type { Family } from '../../net/family.ts';
import type { Announcement } from '../rib/announcement.ts';
import { AnnouncementTable, type RefusedAnnouncement } from '../rib/announcement-table.ts';
import type { SessionWorld } from '../session/session.ts';
import { noEvidence, type RestartEvidence } from '../session/session-negotiation.ts';
import { refuseTransport } from '../transport/dial.ts';
import type { ListenTarget } from '../transport/listen.ts';
import type { NativeSocketsResult } from '../transport/native-sockets.ts';
import type { PathAttributes } from '../wire/message.ts';
import { ceaseSubcode } from '../wire/notification.ts';
import { type CompletePeer, completePeer } from './complete-peer.ts';
import { PeerListener } from './peer-listener.ts';
import { type PeerEvents, type PeerView, SpeakerPeer } from './speaker-peer.ts';

export interface SpeakerOptions extends PeerEvents {
  /** Where to wait for peers; false: only connect. */
  listen?: ListenTarget | false | undefined;
  /**
   * Settings for a neighbor that was not declared, by its address; undefined: the connection is
   * closed. As `bgp listen range` does for FRR.
   */
  dynamicNeighbor?: ((address: string) => PeerSettings | undefined) | undefined;
  /** Asked for every OPEN; see `RestartEvidence`. */
  evidence?: ((peer: CompletePeer) => RestartEvidence) | undefined;
  world?: Partial<SessionWorld> | undefined;
  /** What the machine can do with sockets; found out unless given. */
  native?: NativeSocketsResult | undefined;
}

export interface RefusedPeer {
  readonly name: string;
  readonly address: string;
  readonly asn: number;
  readonly localAsn: number;
  readonly reason: string;
}

/** A prefix as it was advertised to one peer. */
export interface AnnouncedRoute {
  readonly prefix: string;
  readonly nextHop: string;
  readonly attributes: PathAttributes;
}

/** How long `close('drain')` waits for acknowledgements before it goes anyway. */
const drainMs = 10_000;

export class Speaker {
  readonly #options: SpeakerOptions;
  readonly #world: SessionWorld;
  readonly #table = new AnnouncementTable();
  readonly #peers = new Map<string, SpeakerPeer>();
  /** Peers that connected without being declared; `setPeers` leaves them alone. */
  readonly #dynamicNeighbors = new Set<string>();
  readonly #listener: PeerListener;
  readonly #leaving = new Set<Promise<void>>();
  #refusedPeers: RefusedPeer[] = [];
  #isComplete = false;
  #isClosed = false;

  constructor(options: SpeakerOptions = {}) {
    this.#options = options;
    this.#world = { clock: systemClock, random: Math.random, log: silentLog, ...options.world };
    this.#listener = new PeerListener((socket, remote) => {
      if (!this.#isComplete) return false;
      const peer = this.#byAddress(remote) ?? this.#acceptDynamicNeighbor(remote);
      peer?.accept(socket);
      return peer !== undefined;
    }, this.#world.log);
  }

  /** Opens the listener. Sessions wait for the first `set`. */
  async listen(): Promise<void> {
    if (this.#options.listen !== false) await this.#listener.open(this.#options.listen ?? {});
  }

  get port(): number | undefined {
    return this.#listener.port;
  }

  /** Declares all peers. Those refused are named with the reason; the others run. */
  setPeers(all: readonly PeerSettings[]): readonly RefusedPeer[] {
    if (this.#isClosed) return [];
    const wanted = new Map<string, CompletePeer>();
    const known = this.#refusedPeers;
    this.#refusedPeers = [];
    for (const settings of all) {
      const judged = judge(settings, wanted, this.#options.native);
      if (typeof judged !== 'string') wanted.set(judged.name, judged);
      else this.#refusePeer(settings, judged, known);
    }
    for (const [name, current] of this.#peers) {
      if (wanted.has(name) || this.#dynamicNeighbors.has(name)) continue;
      current.stop(ceaseSubcode.deconfigured);
      this.#letGo(name, current);
    }
    const fresh: SpeakerPeer[] = [];
    for (const [name, peer] of wanted) {
      const current = this.#peers.get(name);
      const reset = current && settingThatNeedsReset(current.peer, peer);
      if (current !== undefined && reset === undefined) {
        current.setPeer(peer);
        continue;
      }
      if (current !== undefined) {
        this.#world.log.info(
          { peer: name, changes: reset },
          'session reset: a setting changed that needs a new session',
        );
        current.reset();
        this.#letGo(name, current);
      }
      this.#dynamicNeighbors.delete(name);
      fresh.push(this.#add(peer));
    }
    // Keys and TTLs first: the other side may connect the moment it sees us.
    this.#listener.setPeers(
      new Map([...wanted.values()].map((peer) => [peer.address, peer.socket])),
    );
    if (this.#isComplete) for (const peer of fresh) peer.start();
    return this.#refusedPeers;
  }

  /** Declares all announcements. Those refused are named with the reason; the others are made. */
  set(all: readonly Announcement[]): readonly RefusedAnnouncement[] {
    if (this.#isClosed) return [];
    const { changed, refused } = this.#table.set(all);
    if (!this.#isComplete) {
      this.#isComplete = true;
      for (const peer of this.#peers.values()) peer.start();
    } else if (changed.length > 0) {
      for (const peer of this.#peers.values()) peer.touch(changed);
    }
    return refused;
  }

  peers(): PeerView[] {
    const refused = this.#refusedPeers.map(
      ({ reason, ...peer }): PeerView => ({
        ...peer,
        state: 'Refused',
        uptimeSeconds: undefined,
        lastError: reason,
        families: [],
        holdSeconds: undefined,
        counters: undefined,
        announced: 0,
        isInSync: false,
        isDelivered: false,
        unencodable: {},
      }),
    );
    return [...[...this.#peers.values()].map((peer) => peer.view()), ...refused];
  }

  /** What has been advertised to a peer so far, prefix by prefix. */
  announcedTo(name: string): AnnouncedRoute[] {
    const peer = this.#peers.get(name);
    if (peer === undefined) return [];
    return [...peer.announced()].map(({ prefix, rendered }) => ({
      prefix,
      nextHop: rendered.nextHops[0] ?? '',
      attributes: rendered.attributes,
    }));
  }

  /** Asks a peer for everything of a family again; false where it cannot be asked. */
  requestRefresh(name: string, family: Family): boolean {
    return this.#peers.get(name)?.requestRefresh(family) ?? false;
  }

  async close(how: 'restart' | 'drain', words?: string): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const peers = [...this.#peers.values()];
    if (how === 'drain') {
      for (const peer of peers) peer.drain();
      await Promise.all(peers.map((peer) => this.#delivered(peer)));
      for (const peer of peers) peer.stop(ceaseSubcode.adminShutdown, words);
    } else {
      for (const peer of peers) peer.abandon();
    }
    await this.#listener.close();
    await Promise.all([...peers.map((peer) => peer.settled()), ...this.#leaving]);
  }

  #add(peer: CompletePeer): SpeakerPeer {
    const evidence = this.#options.evidence ?? (() => noEvidence);
    const added = new SpeakerPeer(peer, this.#table, this.#world, this.#options, evidence);
    this.#peers.set(peer.name, added);
    return added;
  }

  #acceptDynamicNeighbor(address: string): SpeakerPeer | undefined {
    const settings = this.#options.dynamicNeighbor?.(address);
    if (settings === undefined || this.#isClosed) return undefined;
    const result = completePeer({ ...settings, address, isPassive: true });
    if (result.kind === 'refused' || this.#peers.has(result.peer.name)) return undefined;
    this.#dynamicNeighbors.add(result.peer.name);
    const neighbor = this.#add(result.peer);
    neighbor.start();
    return neighbor;
  }

  async #delivered(peer: SpeakerPeer): Promise<void> {
    const { clock } = this.#world;
    const end = clock.monotonicMs() + drainMs;
    while (!peer.isDelivered && clock.monotonicMs() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  #letGo(name: string, peer: SpeakerPeer): void {
    this.#peers.delete(name);
    const gone = peer.settled();
    this.#leaving.add(gone);
    void gone.then(() => this.#leaving.delete(gone));
  }

  #refusePeer(settings: PeerSettings, reason: string, known: readonly RefusedPeer[]): void {
    const { address, asn, localAsn } = settings;
    const name = settings.name ?? address;
    this.#refusedPeers.push({ name, address, asn, localAsn, reason });
    // Agents declare their peers on every round; the same refusal is logged once.
    if (known.some((one) => one.name === name && one.reason === reason)) return;
    this.#world.log.error({ peer: name, reason }, 'peer refused: its settings cannot be used');
  }

  #byAddress(address: string): SpeakerPeer | undefined {
    for (const peer of this.#peers.values()) if (peer.peer.address === address) return peer;
    return undefined;
  }
}

/** The peer with its defaults, or why it cannot be one. */
function judge(
  settings: PeerSettings,
  taken: ReadonlyMap<string, CompletePeer>,
  native: NativeSocketsResult | undefined,
): CompletePeer | string {
  const result = completePeer(settings);
  if (result.kind === 'refused') return result.reason;
  const { peer } = result;
  if (taken.has(peer.name)) return `two peers are called ${peer.name}`;
  const twin = [...taken.values()].find((other) => other.address === peer.address);
  if (twin !== undefined) return `peer ${twin.name} has the address ${peer.address} already`;
  return refuseTransport(peer.socket, native) ?? peer;
}
