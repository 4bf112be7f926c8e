import { AdjRibIn } from '../rib/adj-rib-in.ts';
import {
  type AfiSafi,
  type Capability,
  decodeMessage,
  type OpenMessage,
  openAsn,
  preOpenContext,
  type SessionContext,
} from '../wire/message.ts';
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
  /** Counters of the last Statistics Report, by type (RFC 7854 §4.8). */
  statistics: ReadonlyMap<number, bigint> = new Map();
  readonly #ribs = new Map<RibView, AdjRibIn>();
  readonly #complete = new Map<RibView, AfiSafi[]>();
  readonly #sent: OpenMessage | undefined;
  readonly #received: OpenMessage | undefined;

  /** Without OPENs nothing is known to be agreed, and plain NLRI are assumed. */
  constructor(
    peer: PeerHeader,
    opens?: { readonly sentOpen: Uint8Array; readonly receivedOpen: Uint8Array },
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

  /** Takes one UPDATE into the view it is of; a string says why it could not. */
  apply(header: PeerHeader, bytes: Uint8Array): string | undefined {
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
    const rib = new AdjRibIn();
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
