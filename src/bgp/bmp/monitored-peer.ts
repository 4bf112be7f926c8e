import type { Prefix } from '../../net/prefix.ts';
import { AdjRibIn } from '../rib/adj-rib-in.ts';
import { formatWireAddress } from '../wire/address-text.ts';
import { afiIpv4, afiIpv6 } from '../wire/afi-safi.ts';
import {
  type AfiSafi,
  type Capability,
  decodeMessage,
  ipv4Unicast,
  type Nlri,
  type OpenMessage,
  openAsn,
  preOpenContext,
  type SessionContext,
  sameFamily,
} from '../wire/message.ts';
import type { PeerUp } from './bmp-message.ts';
import type { PeerHeader, RibView } from './peer-header.ts';

/** One peer of a monitored router, as that router describes it. */
export class MonitoredPeer {
  readonly address: string;
  readonly routerId: string;
  readonly distinguisher: string;
  readonly peerType: number;
  readonly asn: number;
  /** The router's own AS towards this peer; undefined if its OPEN could not be read. */
  readonly localAsn: number | undefined;
  readonly upSinceMs: number;
  /**
   * Its session began after the router had reported it as down: what it advertised since
   * then is all there is, and the router need not send End-of-RIB (FRR 8.4 does not).
   */
  isNewSession = false;
  /** Messages with routes, or End-of-RIB, so far. */
  updates = 0;
  /** Counters of the last Statistics Report, by type (RFC 7854 §4.8). */
  statistics: ReadonlyMap<number, bigint> = new Map();
  /** The router's own address towards this peer; undefined where it has said none. */
  readonly localAddress: string | undefined;
  readonly #ribs = new Map<RibView, AdjRibIn>();
  readonly #onGone: ((prefix: Nlri) => void) | undefined;
  readonly #complete = new Map<RibView, AfiSafi[]>();
  readonly #sent: OpenMessage | undefined;
  readonly #received: OpenMessage | undefined;

  /** Without OPENs nothing is known to be agreed, and plain NLRI are assumed. */
  constructor(
    peer: PeerHeader,
    opens?: Pick<PeerUp, 'localAddress' | 'sentOpen' | 'receivedOpen'>,
    onGone?: (prefix: Nlri) => void,
  ) {
    this.address = peer.address;
    this.routerId = peer.routerId;
    this.distinguisher = peer.distinguisher;
    this.peerType = peer.peerType;
    this.asn = peer.asn;
    this.upSinceMs = peer.timestampMs;
    this.#sent = opens && readOpen(opens.sentOpen);
    this.#received = opens && readOpen(opens.receivedOpen);
    this.localAsn = this.#sent && openAsn(this.#sent);
    this.localAddress = opens && localAddressOf(peer, opens.localAddress);
    this.#onGone = onGone;
  }

  /**
   * Did both sides agree to speak of this family? Without a multiprotocol capability it
   * is IPv4 (RFC 4760 §8); of an OPEN that could not be read nothing is excluded.
   */
  mayCarry(family: AfiSafi): boolean {
    return [this.#sent, this.#received].every((open) => {
      const named = (open?.capabilities ?? []).filter((one) => one.name === 'multiprotocol');
      if (open === undefined) return true;
      return named.length === 0
        ? sameFamily(family, ipv4Unicast)
        : named.some((one) => sameFamily(family, one));
    });
  }

  /** Is there a route to this prefix, or to a piece of it, in any view? */
  holds(prefix: Prefix): boolean {
    return [...this.#ribs.values()].some((rib) => rib.holds(prefix));
  }

  /** Its session is gone, and everything with it. */
  clear(): void {
    for (const rib of this.#ribs.values()) rib.clear();
  }

  /** The views the router has sent anything of. */
  get views(): RibView[] {
    return [...this.#ribs.keys()];
  }

  rib(view: RibView): AdjRibIn | undefined {
    return this.#ribs.get(view);
  }

  /** The families of a view whose End-of-RIB has come: what is not there is not there. */
  completeFamilies(view: RibView): readonly AfiSafi[] {
    return this.#complete.get(view) ?? [];
  }

  /** Takes one UPDATE into the view it is of; a string says why it could not, or not all of it. */
  apply(header: PeerHeader, bytes: Uint8Array): string | undefined {
    this.updates++;
    const result = decodeMessage(bytes, this.#context(header));
    if (result.kind === 'error') return result.error.detail;
    if (result.message.type !== 'update') return `a ${result.message.type} instead of an UPDATE`;
    const { endOfRib } = this.#ribOf(header.view).apply(result.message);
    if (endOfRib !== undefined) {
      this.#complete.set(header.view, [...this.completeFamilies(header.view), endOfRib]);
    }
    return result.message.errors[0]?.detail;
  }

  #ribOf(view: RibView): AdjRibIn {
    const known = this.#ribs.get(view);
    if (known !== undefined) return known;
    const rib = new AdjRibIn(undefined, this.#onGone);
    this.#ribs.set(view, rib);
    return rib;
  }

  /** How to read an UPDATE of this view. `ibgp`, so that LOCAL_PREF a policy has set is kept. */
  #context(header: PeerHeader): SessionContext {
    const isOut = header.view.startsWith('adj-rib-out');
    const sender = isOut ? this.#sent : this.#received;
    const taker = isOut ? this.#received : this.#sent;
    return {
      as4: !header.as2,
      ibgp: true,
      extendedMessage: true,
      enhancedRouteRefresh: false,
      addPathIpv4: hasAddPath(sender, taker, 1),
      addPathIpv6: hasAddPath(sender, taker, 2),
      isReport: true,
    };
  }
}

/** RFC 7854 §4.10: an IPv4 address stands in the last four octets; all zero: not known. */
function localAddressOf({ address }: PeerHeader, bytes: Uint8Array): string | undefined {
  if (bytes.every((octet) => octet === 0)) return undefined;
  return address.includes(':')
    ? formatWireAddress(bytes, 0, afiIpv6)
    : formatWireAddress(bytes, 12, afiIpv4);
}

function readOpen(bytes: Uint8Array): OpenMessage | undefined {
  const result = decodeMessage(bytes, preOpenContext);
  return result.kind === 'message' && result.message.type === 'open' ? result.message : undefined;
}

/** RFC 7911 §4: one side said it sends (2), the other that it takes (1), or both both (3). */
function hasAddPath(
  sender: OpenMessage | undefined,
  taker: OpenMessage | undefined,
  afi: number,
): boolean {
  return (addPathMode(sender, afi) & 2) !== 0 && (addPathMode(taker, afi) & 1) !== 0;
}

function addPathMode(open: OpenMessage | undefined, afi: number): number {
  const modes = (open?.capabilities ?? [])
    .filter((one): one is Extract<Capability, { name: 'add-path' }> => one.name === 'add-path')
    .flatMap((one) => one.families)
    .filter((family) => family.afi === afi && family.safi === 1);
  return modes.at(-1)?.mode ?? 0;
}
