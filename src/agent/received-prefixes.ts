import { ReceivedRoutes } from '../bgp/rib/received-routes.ts';
import { wireFamily } from '../bgp/session/session-negotiation.ts';
import type { CompletePeer } from '../bgp/speaker/complete-peer.ts';
import type { PeerEvents } from '../bgp/speaker/speaker-peer.ts';
import { afiIpv4 } from '../bgp/wire/afi-safi.ts';
import { gracefulShutdownCommunity } from '../bgp/wire/community-text.ts';
import { Nlri, NlriRun, type UpdateMessage } from '../bgp/wire/message.ts';
import type { Family } from '../net/family.ts';
import { Prefix } from '../net/prefix.ts';
import { agree } from '../net/words.ts';
import type { ReceivedPath } from '../plan/node/hijacks.ts';

/**
 * A router that sends the whole Internet must not cost the node its memory: beyond so many
 * routes only UPDATEs that touch a block of this node are kept. 20,000 IPv4 routes take
 * 0.3 MB.
 */
const mostKept = 20_000;

/**
 * What the routers advertise to this node: counted for people, and by a drain, and looked
 * through for routes to the node's own blocks. No route follows from it.
 */
export class ReceivedPrefixes {
  readonly #routes = new ReceivedRoutes();
  /** A route to an own block came or went. */
  readonly #onNews: () => void;
  #own: readonly Prefix[] = [];

  constructor(onNews: () => void = () => {}) {
    this.#onNews = onNews;
  }

  readonly events = {
    onUpdate: (peer: CompletePeer, update: UpdateMessage) => {
      const isOwn = this.#touchesOwn(update);
      const { size } = this.#routes.ribOf(peer.name) ?? { size: 0 };
      // What is withdrawn always counts.
      const { mpReach: _, ...rest } = update;
      const less = { ...rest, nlri: NlriRun.empty(afiIpv4) };
      this.#routes.events.onUpdate(peer, isOwn || size < mostKept ? update : less);
      if (isOwn) this.#onNews();
    },
    onUp: this.#routes.events.onUp,
    onDown: this.#routes.events.onDown,
  } satisfies PeerEvents;

  count(peer: string, family: Family): number {
    return this.#routes.ribOf(peer)?.sizeOf(wireFamily(family)) ?? 0;
  }

  /**
   * Whether a peer shows a path to a prefix that is not our own come back. Many routers put
   * themselves in as next hop; but while we drain, our own path carries GRACEFUL_SHUTDOWN
   * (RFC 8326) wherever it goes, and that of a node that stays does not. A router that strips
   * communities cannot be told apart.
   */
  hasOtherPath(peer: string, prefix: string, ownNextHop: string): boolean {
    const nlri = Nlri.parse(prefix);
    const route = nlri && this.#routes.ribOf(peer)?.lookup(nlri);
    if (route === undefined || route.nextHops.includes(ownNextHop)) return false;
    return !route.attributes.communities?.includes(gracefulShutdownCommunity);
  }

  /** Of which blocks news is wanted at once. */
  watch(own: readonly Prefix[]): void {
    this.#own = own;
  }

  /** What a peer advertises for the watched blocks and for pieces of them. */
  pathsInside(peer: string): ReceivedPath[] {
    const routes = this.#routes.ribOf(peer)?.routesInside(this.#own) ?? [];
    return routes
      .filter(({ stale }) => !stale)
      .map(({ prefix, nextHops, attributes }) => ({
        peer,
        prefix: prefixOf(prefix),
        nextHops,
        asPath: (attributes.asPath ?? []).flatMap(({ asns }) => asns),
        originatorId: attributes.originatorId,
      }));
  }

  #touchesOwn({ nlri, withdrawn, mpReach, mpUnreach }: UpdateMessage): boolean {
    return (
      this.#isOwn(nlri) ||
      this.#isOwn(withdrawn) ||
      (mpReach?.kind === 'unicast' && this.#isOwn(mpReach.nlri)) ||
      (mpUnreach?.kind === 'unicast' && this.#isOwn(mpUnreach.withdrawn))
    );
  }

  #isOwn(run: NlriRun): boolean {
    if (run.count === 0) return false;
    const family = run.afi === afiIpv4 ? 'ipv4' : 'ipv6';
    const own = this.#own.filter((block) => block.family === family);
    if (own.length === 0) return false;
    let isInside = false;
    run.visit((w0, w1, w2, w3, length) => {
      isInside ||= own.some(
        (block) => block.length <= length && agree(block, { w0, w1, w2, w3 }, block.length),
      );
    });
    return isInside;
  }
}

function prefixOf({ afi, length, w0, w1, w2, w3 }: Nlri): Prefix {
  return new Prefix(afi === afiIpv4 ? 'ipv4' : 'ipv6', length, w0, w1, w2, w3);
}
