/**
 * Passes the announcements to the speaker, and reports what became of them. What is
 * announced comes from plan/node/desired-announcements.
 *
 * Blocks are withheld where this node was without any router for longer than
 * `withholdBlocksAfterMs`: meanwhile somebody may have testified that it is gone (decision
 * 30). That is decided in the moment in which the session becomes established, before an
 * UPDATE is made, and lasts until a round has judged each block by it and calls `confirm`.
 * Addresses of Services are not withheld: any node may announce them.
 */

import type { RestartEvidence } from '../bgp/session/session-negotiation.ts';
import type { CompletePeer } from '../bgp/speaker/complete-peer.ts';
import type { ListenTarget } from '../bgp/transport/listen.ts';
import type { ReportedSession } from '../model/node-report-status.ts';
import { type Family, families } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import type { WithdrawalDelivery } from '../plan/node/block-use.ts';
import type { DesiredAnnouncement } from '../plan/node/desired-announcements.ts';
import type { NodePeer } from '../plan/node/node-peers.ts';
import type { Hijack, RouterContact } from '../plan/node/router-contact.ts';
import type { AnnouncingSession } from '../plan/node/unannounced.ts';
import type { AgentWorld, SpeakerDriver } from './agent-world.ts';
import type { LastContact } from './contact-file.ts';
import type { Delivery } from './drain.ts';
import { HijackWatch, type WatchedRouter } from './hijack-watch.ts';
import { ReceivedPrefixes } from './received-prefixes.ts';
import { lookEveryMs, RouterLoss } from './router-loss.ts';
import { SessionTimes } from './session-times.ts';

type SpeakerWorld = Pick<AgentWorld, 'openSpeaker' | 'hasRestarted' | 'clock' | 'log' | 'metrics'>;

interface AnnouncerOptions extends SpeakerWorld {
  listen: ListenTarget | false;
  /** A session came up or went down, or a router advertises something about an own block. */
  onChange: () => void;
}

export class Announcer {
  readonly #o: AnnouncerOptions;
  readonly #speaker: SpeakerDriver;
  readonly #received: ReceivedPrefixes;
  readonly #hijacks = new HijackWatch();
  readonly #loss: RouterLoss;
  /** Peers whose session is established. */
  readonly #up = new Set<string>();
  #peers: readonly NodePeer[] = [];
  #looking: NodeJS.Timeout | undefined;
  /** No router was connected for longer than the limit; one may be again. */
  #wasLost = false;
  /** When the routers were last told what there is to announce. */
  #declaredMs: number | undefined;
  /** Absent: blocks are never withheld. */
  withholdBlocksAfterMs: number | undefined;
  #kept: readonly Prefix[] | 'everything' = [];
  #blocks: readonly DesiredAnnouncement[] = [];
  #services: readonly DesiredAnnouncement[] = [];
  /** Announcements that can be sent to nobody, with the reason. */
  #refused: Readonly<Record<string, string>> = {};
  #complaints = '';
  #noted: ReadonlySet<string> = new Set();
  readonly #times: SessionTimes;

  constructor(options: AnnouncerOptions) {
    this.#o = options;
    this.#times = new SessionTimes(options.clock);
    this.#loss = new RouterLoss(options.clock);
    const { openSpeaker, listen, log, metrics, onChange } = options;
    const ends = metrics.counter(
      'cadastre_bgp_session_ends_total',
      'How often an established BGP session ended, by peer.',
    );
    this.#received = new ReceivedPrefixes(onChange);
    const { onUpdate, onUp, onDown } = this.#received.events;
    this.#speaker = openSpeaker({
      listen,
      evidence: (peer) => this.#evidence(peer),
      world: { log },
      onUpdate,
      onUp: (peer, negotiated) => {
        // From 0 on, so that the first end is an increase.
        ends.inc({ peer: peer.name }, 0);
        this.#cameUp(peer);
        onUp(peer, negotiated);
        onChange();
      },
      onDown: (peer, end) => {
        ends.inc({ peer: peer.name });
        this.#look();
        this.#up.delete(peer.name);
        onDown(peer, end);
        onChange();
      },
    });
  }

  /** What an earlier run of the agent knew of its sessions. */
  resume(contact: LastContact): void {
    this.#loss.resume(contact);
  }

  /**
   * To be called before the kernel is touched: which routes were there when we
   * came. Only they prove that packets were forwarded all the time (RFC 4724).
   * `everything`: another program forwards, whether we run or not.
   */
  async listen(kept: readonly Prefix[] | 'everything'): Promise<void> {
    this.#kept = kept;
    this.#looking = setInterval(() => this.#look(), lookEveryMs);
    this.#looking.unref();
    await this.#speaker.listen();
  }

  declare(
    peers: readonly NodePeer[],
    { blocks, services }: Record<'blocks' | 'services', readonly DesiredAnnouncement[]>,
  ): void {
    this.#blocks = blocks;
    this.#services = services;
    this.#peers = peers;
    this.#declaredMs = this.#o.clock.monotonicMs();
    const refusedPeers = this.#speaker.setPeers(peers);
    const refused = this.#speaker.set(this.#announcements());
    this.#noteChanges();
    this.#refused = Object.fromEntries(
      refused.map(({ announcement, reason }) => [announcement.prefix, reason]),
    );
    const complaints = [
      ...refusedPeers.map(({ name, reason }) => `peer ${name} is refused: ${reason}`),
      ...refused.map(
        ({ announcement, reason }) => `${announcement.prefix} is not announced: ${reason}`,
      ),
    ];
    if (complaints.join() === this.#complaints) return;
    this.#complaints = complaints.join();
    for (const complaint of complaints) this.#o.log.error({ reason: 'PeerRefused' }, complaint);
  }

  /** Whether no block is announced, because no round has judged the loss of all routers yet. */
  get isWithholding(): boolean {
    return this.#wasLost;
  }

  /** The blocks that are declared are this node's, as was found out after it had lost its routers. */
  confirm(): void {
    if (!this.#wasLost) return;
    this.#wasLost = false;
    this.#announce();
  }

  /** Where a router reaches one of these blocks, or a piece of it, elsewhere. */
  hijacks(ownBlocks: readonly Prefix[], isOtherNode: (address: string) => boolean): Hijack[] {
    this.#received.watch(ownBlocks);
    const paths = [...this.#up].flatMap((peer) => this.#received.pathsInside(peer));
    const nowMs = this.#o.clock.monotonicMs();
    return this.#hijacks.look(ownBlocks, this.#routers(), paths, isOtherNode, nowMs);
  }

  /** What the routers say, and for how long none did. Whoever has judged `wasLost` calls `confirm`. */
  contact(
    ownBlocks: readonly Prefix[],
    isOtherNode: (address: string) => boolean = () => false,
  ): RouterContact & { wasLost: boolean } {
    const lastUpMs = this.#lastUpMs();
    return {
      ...(lastUpMs === undefined ? {} : { lastUpMs }),
      hijacks: this.hijacks(ownBlocks, isOtherNode),
      wasLost: this.#wasLost,
    };
  }

  /** What became of the last declaration. */
  withdrawal(peers: readonly NodePeer[]): WithdrawalDelivery {
    const up = this.#established();
    return {
      declaredMs: this.#declaredMs,
      isAcknowledged: up.every(({ isDelivered }) => isDelivered),
      isEveryPeerUp: up.length >= peers.length,
    };
  }

  /** What has been advertised to each peer, and what cannot be. */
  announcing(): AnnouncingSession[] {
    return this.#speaker
      .peers()
      .map(({ name, state, lastError, families: agreed, unencodable }) => ({
        peer: name,
        state,
        lastError,
        families: agreed,
        advertised: new Set(this.#speaker.announcedTo(name).map(({ prefix }) => prefix)),
        refused: { ...unencodable, ...this.#refused },
      }));
  }

  sessions(): ReportedSession[] {
    return this.#speaker.peers().map((view) => {
      const { name, address, asn, localAsn, state, lastError } = view;
      const announced = this.#times.dated(name, this.#speaker.announcedTo(name));
      const establishedAt = this.#times.establishedAt(name, view.uptimeSeconds);
      return {
        peer: name,
        address,
        asn,
        localAsn,
        state,
        ...(establishedAt === undefined ? {} : { establishedAt }),
        families: families
          .filter((family) => view.families.includes(family))
          .map((family) => ({
            family,
            received: this.#received.count(name, family),
            advertised: announced.filter(({ prefix }) => familyOf(prefix) === family).length,
          })),
        ...(lastError === undefined ? {} : { lastError }),
        announced,
      };
    });
  }

  /** Whether every established session has sent all that was declared. */
  get isInSync(): boolean {
    return this.#established().every(({ isInSync }) => isInSync);
  }

  /** Of the established sessions, how many have acknowledged what was declared last, and which paths the routers use. */
  delivery(what: 'services' | 'everything'): Delivery {
    const isBlock = new Set(this.#blocks.map(({ prefix }) => prefix));
    const up = this.#established();
    const advertised = new Set<string>();
    const used = new Set<string>();
    for (const { name } of up) {
      for (const { prefix, nextHop } of this.#speaker.announcedTo(name)) {
        if (what === 'services' && isBlock.has(prefix)) continue;
        advertised.add(prefix);
        // Nobody else announces a block, so what a router shows of it is our own.
        if (isBlock.has(prefix) || !this.#received.hasOtherPath(name, prefix, nextHop)) {
          used.add(prefix);
        }
      }
    }
    return {
      routers: up.length,
      acknowledged: up.filter(({ isDelivered }) => isDelivered).length,
      prefixes: advertised.size,
      elsewhere: advertised.size - used.size,
    };
  }

  close(how: 'restart' | 'drain'): Promise<void> {
    clearInterval(this.#looking);
    return this.#speaker.close(how);
  }

  #announcements(): DesiredAnnouncement[] {
    return this.#wasLost ? [...this.#services] : [...this.#blocks, ...this.#services];
  }

  /** The first `set` of a speaker begins its sessions: that is for `declare` to do. */
  #announce(): void {
    if (this.#declaredMs === undefined) return;
    this.#speaker.set(this.#announcements());
    this.#noteChanges();
  }

  /** A line for each prefix that comes or goes, while anybody wants to read them. */
  #noteChanges(): void {
    const { debug } = this.#o.log;
    if (debug === undefined) return;
    const now = new Set(this.#announcements().map(({ prefix }) => prefix));
    for (const prefix of now) if (!this.#noted.has(prefix)) debug({ prefix }, 'to be announced');
    for (const prefix of this.#noted) if (!now.has(prefix)) debug({ prefix }, 'to be withdrawn');
    this.#noted = now;
  }

  /** Before the first UPDATE of the session is made. */
  #cameUp({ name }: CompletePeer): void {
    this.#look();
    const { lostMs } = this.#loss;
    this.#loss.established();
    this.#up.add(name);
    const limitMs = this.withholdBlocksAfterMs;
    if (limitMs === undefined || lostMs <= limitMs || this.#wasLost) return;
    const lostSeconds = Math.round(lostMs / 1000);
    this.#o.log.warn(
      { peer: name, seconds: lostSeconds },
      `no session with any router was established for ${lostSeconds} s: the blocks are announced only if the API server has confirmed them`,
    );
    this.#wasLost = true;
    this.#announce();
  }

  /** As `RouterContact` has it. */
  #lastUpMs(): number | undefined {
    if (this.#wasLost) return Number.NEGATIVE_INFINITY;
    this.#look();
    const { hasBeenUp, isInDoubt, lostMs } = this.#loss;
    if (!hasBeenUp) return undefined;
    const isUp = this.#up.size > 0 && !isInDoubt;
    return isUp ? Number.POSITIVE_INFINITY : this.#o.clock.monotonicMs() - lostMs;
  }

  #established() {
    return this.#speaker.peers().filter(({ state }) => state === 'Established');
  }

  #look(): void {
    const holds = this.#speaker.peers().flatMap(({ holdSeconds }) => holdSeconds ?? []);
    // Without a hold timer nobody notices; RFC 4271 §8.2.2 calls four minutes a large value.
    this.#loss.look(this.#up.size > 0, holds.includes(0) ? 240 : Math.max(0, ...holds));
  }

  #routers(): WatchedRouter[] {
    const views = new Map(this.#speaker.peers().map((view) => [view.name, view]));
    return this.#peers.flatMap((settings) => {
      const view = views.get(settings.name);
      if (view === undefined) return [];
      const restartSeconds = settings.gracefulRestartSeconds ?? 0;
      return {
        settings,
        view,
        announced: new Map(
          this.#speaker.announcedTo(view.name).map(({ prefix, nextHop }) => [prefix, nextHop]),
        ),
        keepsEarlierRun: this.#o.hasRestarted(restartSeconds),
        restartSeconds,
      };
    });
  }

  #evidence({ gracefulRestartSeconds }: CompletePeer): RestartEvidence {
    if (!this.#o.hasRestarted(gracefulRestartSeconds)) {
      return { hasRestarted: false, forwarding: [] };
    }
    // Not those of Services: the nodes' own rules carry them, whether we run or not.
    const kept = this.#kept;
    const wasKept = (family: Family) =>
      kept === 'everything' ||
      this.#blocks.every(
        ({ prefix }) =>
          familyOf(prefix) !== family || kept.some((route) => route.toString() === prefix),
      );
    return { hasRestarted: true, forwarding: families.filter(wasKept) };
  }
}

const familyOf = (prefix: string): Family => (prefix.includes(':') ? 'ipv6' : 'ipv4');
