import { isPeerOf } from '../../model/bgp-peer.ts';
import type { RouterTable } from './evidence.ts';
import { canonicalAddress } from './next-hops.ts';
import type { RouteView } from './route-view.ts';
import type { Survey, SurveyedBlock } from './survey.ts';

/**
 * Which router is to hold which block. Who is configured to speak with it
 * decides, where the configuration was seen. Otherwise the tables themselves
 * do: routers that share nodes stand in one place and should share them all;
 * routers with different nodes are in different racks; a router that learns our
 * blocks only from other routers is not asked to know each of them; and one that
 * holds nothing of ours at all was given to us for a reason.
 */
export class Expectations {
  readonly #survey: Survey;
  /** Pairs of router names that share a node. */
  readonly #neighbours = new Map<string, Set<string>>();
  readonly #peerNames = new Map<string, Set<string>>();

  constructor(survey: Survey) {
    this.#survey = survey;
    const routers = survey.views.filter(({ isRouter }) => isRouter);
    for (const one of routers) {
      const near = new Set<string>();
      for (const other of routers) {
        if (other !== one && [...one.via.keys()].some((node) => other.via.has(node))) {
          near.add(other.name);
        }
      }
      this.#neighbours.set(one.name, near);
    }
    this.#matchPeers();
  }

  expects(view: RouteView, block: SurveyedBlock): boolean {
    if (!view.isRouter) return true;
    const peers = this.#peerNames.get(view.name);
    if (peers !== undefined) return this.#isPeer(peers, block.node);
    if (view.via.size === 0) return !learnsFromRouters(view);
    return this.#survey.views.some(
      (other) =>
        other.routes.has(block.key) && this.#neighbours.get(view.name)?.has(other.name) === true,
    );
  }

  /** The owner's own agent says that it announces the block to somebody. */
  isAnnounced(block: SurveyedBlock): boolean {
    const known = this.#survey.nodes.get(block.node);
    const sessions = known?.report?.status?.sessions ?? [];
    return (
      sessions.length > 0 &&
      known?.announces?.some(({ prefix }) => prefix.equals(block.prefix)) === true
    );
  }

  /**
   * May a router hold the block that was not seen? One that its node has a session with, by
   * the agent's report or by configuration, and that is none of those shown. A table of
   * which neither name nor addresses tell whose it is may be that router's.
   */
  isPerhapsElsewhere({ node, prefix }: SurveyedBlock): boolean {
    const surveyed = this.#survey.nodes.get(node);
    const { peers, routers } = this.#survey.evidence;
    const speaksWith = [
      ...(surveyed?.report?.status?.sessions ?? []).map((one) => ({ ...one, name: one.peer })),
      ...peers.filter((peer) => isPeerOf(peer, surveyed?.node.labels ?? {})),
    ];
    const shown = routers.filter(({ families }) => families.has(prefix.family));
    const unseen = speaksWith.filter((peer) => !shown.some((table) => isRouterOf(table, peer)));
    if (unseen.length === 0) return false;
    return shown.every(
      (table) => table.addresses.length > 0 || speaksWith.some((peer) => isRouterOf(table, peer)),
    );
  }

  #matchPeers(): void {
    const { peers, routers } = this.#survey.evidence;
    for (const peer of peers) {
      for (const table of routers) {
        if (!isRouterOf(table, peer)) continue;
        const known = this.#peerNames.get(table.router);
        if (known === undefined) this.#peerNames.set(table.router, new Set([peer.name]));
        else known.add(peer.name);
      }
    }
  }

  #isPeer(names: ReadonlySet<string>, node: string): boolean {
    const labels = this.#survey.nodes.get(node)?.node.labels ?? {};
    return this.#survey.evidence.peers.some(
      (peer) => names.has(peer.name) && isPeerOf(peer, labels),
    );
  }
}

/** By the name that both have, or by an address. */
function isRouterOf(
  { router, addresses }: RouterTable,
  { name, address }: { name: string; address: string },
): boolean {
  if (router === name || router === address) return true;
  return addresses.some((own) => canonicalAddress(own) === canonicalAddress(address));
}

function learnsFromRouters(view: RouteView): boolean {
  for (const { paths } of view.routes.values()) {
    if (paths.some(({ hop }) => hop.kind === 'router')) return true;
  }
  return false;
}
