import { ReceivedRoutes } from '../bgp/rib/received-routes.ts';
import { wireFamily } from '../bgp/session/session-negotiation.ts';
import type { CompletePeer } from '../bgp/speaker/complete-peer.ts';
import type { PeerEvents } from '../bgp/speaker/speaker-peer.ts';
import { Nlri, NlriRun, type UpdateMessage } from '../bgp/wire/message.ts';
import type { Family } from '../net/family.ts';

/** A router that sends the whole Internet must not cost the node its memory. */
const mostCounted = 20_000;

/** What the routers advertise to this node: counted for people, and by a drain. No route follows from it. */
export class ReceivedPrefixes {
  readonly #routes = new ReceivedRoutes();

  readonly events = {
    onUpdate: (peer: CompletePeer, update: UpdateMessage) => {
      const { size } = this.#routes.ribOf(peer.name) ?? { size: 0 };
      // What is withdrawn always counts.
      const { mpReach: _, ...rest } = update;
      const less = { ...rest, nlri: NlriRun.empty(1) };
      this.#routes.events.onUpdate(peer, size < mostCounted ? update : less);
    },
    onUp: this.#routes.events.onUp,
    onDown: this.#routes.events.onDown,
  } satisfies PeerEvents;

  count(peer: string, family: Family): number {
    return this.#routes.ribOf(peer)?.sizeOf(wireFamily(family)) ?? 0;
  }

  /** By which a peer says that it reaches a prefix. */
  nextHops(peer: string, prefix: string): readonly string[] {
    const nlri = Nlri.parse(prefix);
    return (nlri && this.#routes.ribOf(peer)?.lookup(nlri)?.nextHops) ?? [];
  }
}
