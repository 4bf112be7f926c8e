import { type Family, families } from '../../net/family.ts';
import { unicastOf } from '../wire/afi-safi.ts';
import type { Nlri } from '../wire/message.ts';
import { type BmpMessage, decodeBmp, type PeerUp, type Tlv } from './bmp-message.ts';
import { MonitoredPeer } from './monitored-peer.ts';
import { locRibPeerType, type PeerHeader, peerKey, type RibView } from './peer-header.ts';

/**
 * Of a router's views the one nearest to what it forwards by: its Loc-RIB, what
 * passed its policy, what came before. Only the first says which path is used; the
 * last holds routes that a filter has thrown away.
 */
const viewOrder: readonly RibView[] = [
  'loc-rib',
  'adj-rib-in-post-policy',
  'adj-rib-in-pre-policy',
];

/** What its owner wants to be told at the moment it happens. */
export interface MonitoredRouterEvents {
  /** A route has left, in whatever view. */
  onGone?(prefix: Nlri): void;
  onPeerUp?(peer: MonitoredPeer): void;
  onPeerDown?(peer: MonitoredPeer): void;
}

/** Peers remembered as down, so that no stream of them can fill the memory. */
const mostDownPeers = 10_000;

/** What one router has reported to the station over one connection. */
export class MonitoredRouter {
  /** Where it connected from. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  sysName: string | undefined;
  sysDescr: string | undefined;
  /** Messages inside a sound envelope that could not be used, and the last such fault. */
  faults = 0;
  lastFault: string | undefined;
  /** Those of them that may have been about routes. */
  unreadRoutes = 0;
  messages = 0;
  statistics = 0;
  isTerminated = false;
  events: MonitoredRouterEvents = {};
  readonly #downPeers = new Set<string>();
  readonly #carried = new Set<string>();
  readonly #peers = new Map<string, MonitoredPeer>();

  constructor(remoteAddress: string, remotePort: number) {
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  /** The peers that are up. */
  get peers(): MonitoredPeer[] {
    return [...this.#peers.values()];
  }

  /**
   * Which of its views says most about where it sends packets of a family. Only one that
   * has carried a route counts: FRR sends End-of-RIB of views that it does not monitor.
   */
  nearestView(family: Family): RibView | undefined {
    return viewOrder.find((view) => this.#carried.has(`${view} ${family}`));
  }

  /** Takes one BMP message. Nothing it holds can do more than raise the count of faults. */
  take(bytes: Uint8Array): void {
    this.messages++;
    const message = decodeBmp(bytes);
    const fault = typeof message === 'string' ? message : this.#apply(message);
    if (fault === undefined) return;
    this.faults++;
    this.lastFault = fault;
    const isAboutRoutes = typeof message === 'string' || message.type === 'route-monitoring';
    if (isAboutRoutes) this.unreadRoutes++;
  }

  #apply(message: BmpMessage): string | undefined {
    switch (message.type) {
      case 'initiation':
        this.sysDescr = textOf(message.information, 1) ?? this.sysDescr;
        this.sysName = textOf(message.information, 2) ?? this.sysName;
        return undefined;
      case 'termination':
        this.isTerminated = true;
        return undefined;
      case 'peer-up':
        this.#peerUp(message);
        return undefined;
      case 'peer-down':
        this.#peerDown(message.peer);
        return undefined;
      case 'statistics': {
        const peer = this.#peers.get(peerKey(message.peer));
        if (peer === undefined) return `statistics of ${message.peer.address}, which is not up`;
        peer.statistics = message.values;
        this.statistics++;
        return undefined;
      }
      case 'route-monitoring': {
        const peer = this.#peerOf(message.peer);
        if (peer === undefined) return `routes of ${message.peer.address}, which is not up`;
        const fault = peer.apply(message.peer, message.update);
        // What it originates itself does not say that it reports what others advertise.
        if (!isUnspecified(peer.address) || peer.peerType === locRibPeerType) {
          this.#noteCarried(message.peer.view, peer);
        }
        return fault;
      }
      case 'ignored':
        return undefined;
    }
  }

  #peerUp(message: PeerUp): void {
    const key = peerKey(message.peer);
    const before = this.#peers.get(key);
    // RFC 7854 §4.10: a second Peer Up is a new session; nothing of the old one holds.
    before?.clear();
    const peer = this.#newPeer(message.peer, message);
    peer.isNewSession = this.#downPeers.delete(key) || before !== undefined;
    this.#peers.set(key, peer);
    this.events.onPeerUp?.(peer);
  }

  /** RFC 7854 §4.9: stands for the withdrawal of everything. FRR names peers that never were up too. */
  #peerDown(header: PeerHeader): void {
    const key = peerKey(header);
    const peer = this.#peers.get(key);
    if (this.#downPeers.size < mostDownPeers) this.#downPeers.add(key);
    if (peer === undefined) return;
    this.#peers.delete(key);
    peer.clear();
    this.events.onPeerDown?.(peer);
  }

  #newPeer(header: PeerHeader, up?: PeerUp): MonitoredPeer {
    return new MonitoredPeer(header, up, (prefix) => this.events.onGone?.(prefix));
  }

  #noteCarried(view: RibView, peer: MonitoredPeer): void {
    for (const family of families) {
      const key = `${view} ${family}`;
      if (this.#carried.has(key)) continue;
      if ((peer.rib(view)?.sizeOf(unicastOf(family)) ?? 0) > 0) this.#carried.add(key);
    }
  }

  /**
   * RFC 9069 §5.2 asks for a Peer Up of the Loc-RIB as well; GoBGP 3.10 sends none. Nor does FRR
   * for what the router originates itself (`network`, `redistribute`), which it reports as
   * received from 0.0.0.0.
   */
  #peerOf(header: PeerHeader): MonitoredPeer | undefined {
    const known = this.#peers.get(peerKey(header));
    const isOwn = header.view === 'loc-rib' || isUnspecified(header.address);
    if (known !== undefined || !isOwn) return known;
    const own = this.#newPeer(header);
    this.#peers.set(peerKey(header), own);
    return own;
  }
}

export function isUnspecified(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** Free text of a TLV; what is not UTF-8 is shown with replacement characters. */
function textOf(information: readonly Tlv[], type: number): string | undefined {
  const tlv = information.find((one) => one.type === type);
  return tlv && new TextDecoder().decode(tlv.value);
}
