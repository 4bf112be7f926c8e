/**
 * Passes the announcements to the speaker, and reports what became of them. What is
 * announced comes from plan/node/desired-announcements.
 */

import type { RestartEvidence } from '../bgp/session/session-negotiation.ts';
import type { ListenTarget } from '../bgp/transport/listen.ts';
import type { ReportedSession } from '../model/node-report-status.ts';
import { type Family, families } from '../net/family.ts';
import type { Prefix } from '../net/prefix.ts';
import type { DesiredAnnouncement } from '../plan/node/desired-announcements.ts';
import type { NodePeer } from '../plan/node/node-peers.ts';
import type { AnnouncingSession } from '../plan/node/unannounced.ts';
import type { AgentWorld, SpeakerDriver } from './agent-world.ts';
import type { Delivery } from './drain.ts';
import { ReceivedPrefixes } from './received-prefixes.ts';
import { SessionTimes } from './session-times.ts';

type SpeakerWorld = Pick<AgentWorld, 'openSpeaker' | 'hasRestarted' | 'clock' | 'log'>;

interface AnnouncerOptions extends SpeakerWorld {
  listen: ListenTarget | false;
  /** A session came up or went down. */
  onChange: () => void;
}

export class Announcer {
  readonly #o: AnnouncerOptions;
  readonly #speaker: SpeakerDriver;
  readonly #received = new ReceivedPrefixes();
  #kept: readonly Prefix[] = [];
  /** Not those of Services: the nodes' own rules carry them, whether we run or not. */
  #announcedBlocks: readonly DesiredAnnouncement[] = [];
  /** Announcements that can be sent to nobody, with the reason. */
  #refused: Readonly<Record<string, string>> = {};
  #complaints = '';
  readonly #times: SessionTimes;

  constructor(options: AnnouncerOptions) {
    this.#o = options;
    this.#times = new SessionTimes(options.clock);
    const { openSpeaker, listen, log, onChange } = options;
    const { onUpdate, onUp, onDown } = this.#received.events;
    this.#speaker = openSpeaker({
      listen,
      evidence: () => this.#evidence(),
      world: { log },
      onUpdate,
      onUp: (peer, negotiated) => {
        onUp(peer, negotiated);
        onChange();
      },
      onDown: (peer, end) => {
        onDown(peer, end);
        onChange();
      },
    });
  }

  /**
   * To be called before the kernel is touched: which routes were there when we
   * came. Only they prove that packets were forwarded all the time (RFC 4724).
   */
  async listen(kept: readonly Prefix[]): Promise<void> {
    this.#kept = kept;
    await this.#speaker.listen();
  }

  declare(
    peers: readonly NodePeer[],
    { blocks, services }: Record<'blocks' | 'services', readonly DesiredAnnouncement[]>,
  ): void {
    this.#announcedBlocks = blocks;
    const refusedPeers = this.#speaker.setPeers(peers);
    const refused = this.#speaker.set([...blocks, ...services]);
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
    return this.#speaker
      .peers()
      .every(({ state, isInSync }) => state !== 'Established' || isInSync);
  }

  /** Of the established sessions, how many have acknowledged what was declared last, and which paths the routers use. */
  delivery(what: 'services' | 'everything'): Delivery {
    const left = what === 'everything' ? [] : this.#announcedBlocks;
    const isLeft = new Set(left.map(({ prefix }) => prefix));
    const up = this.#speaker.peers().filter(({ state }) => state === 'Established');
    const advertised = new Set<string>();
    const used = new Set<string>();
    for (const { name } of up) {
      for (const { prefix, nextHop } of this.#speaker.announcedTo(name)) {
        if (isLeft.has(prefix)) continue;
        advertised.add(prefix);
        const others = this.#received.nextHops(name, prefix);
        if (others.length === 0 || others.includes(nextHop)) used.add(prefix);
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
    return this.#speaker.close(how);
  }

  #evidence(): RestartEvidence {
    if (!this.#o.hasRestarted()) return { hasRestarted: false, forwarding: [] };
    const wasKept = (family: Family) =>
      this.#announcedBlocks.every(
        ({ prefix }) =>
          familyOf(prefix) !== family || this.#kept.some((route) => route.toString() === prefix),
      );
    return { hasRestarted: true, forwarding: families.filter(wasKept) };
  }
}

const familyOf = (prefix: string): Family => (prefix.includes(':') ? 'ipv6' : 'ipv4');
