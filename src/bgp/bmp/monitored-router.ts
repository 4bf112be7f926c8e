import { type BmpMessage, decodeBmp, type Tlv } from './bmp-message.ts';
import { MonitoredPeer } from './monitored-peer.ts';
import { type PeerHeader, peerKey, type RibView } from './peer-header.ts';

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
  messages = 0;
  isTerminated = false;
  readonly #peers = new Map<string, MonitoredPeer>();

  constructor(remoteAddress: string, remotePort: number) {
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  /** The peers that are up. */
  get peers(): MonitoredPeer[] {
    return [...this.#peers.values()];
  }

  /** Which of its views says most about where it sends; undefined before it has shown one. */
  get nearestView(): RibView | undefined {
    const views = new Set(this.peers.flatMap((peer) => peer.views));
    return viewOrder.find((view) => views.has(view));
  }

  /** Takes one BMP message. Nothing it holds can do more than raise the count of faults. */
  take(bytes: Uint8Array): void {
    this.messages++;
    const message = decodeBmp(bytes);
    const fault = typeof message === 'string' ? message : this.#apply(message);
    if (fault === undefined) return;
    this.faults++;
    this.lastFault = fault;
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
        // RFC 7854 §4.10: a second Peer Up is a new session; nothing of the old one holds.
        this.#peers.set(peerKey(message.peer), new MonitoredPeer(message.peer, message));
        return undefined;
      case 'peer-down':
        // RFC 7854 §4.9: stands for the withdrawal of everything.
        this.#peers.delete(peerKey(message.peer));
        return undefined;
      case 'statistics': {
        const peer = this.#peers.get(peerKey(message.peer));
        if (peer === undefined) return `statistics of ${message.peer.address}, which is not up`;
        peer.statistics = message.values;
        return undefined;
      }
      case 'route-monitoring': {
        const peer = this.#peerOf(message.peer);
        if (peer === undefined) return `routes of ${message.peer.address}, which is not up`;
        return peer.apply(message.peer, message.update);
      }
      case 'ignored':
        return undefined;
    }
  }

  /** RFC 9069 §5.2 asks for a Peer Up of the Loc-RIB as well; GoBGP 3.10 sends none. */
  #peerOf(header: PeerHeader): MonitoredPeer | undefined {
    const known = this.#peers.get(peerKey(header));
    if (known !== undefined || header.view !== 'loc-rib') return known;
    const own = new MonitoredPeer(header);
    this.#peers.set(peerKey(header), own);
    return own;
  }
}

/** Free text of a TLV; what is not UTF-8 is shown with replacement characters. */
function textOf(information: readonly Tlv[], type: number): string | undefined {
  const tlv = information.find((one) => one.type === type);
  return tlv && new TextDecoder().decode(tlv.value);
}
