import { isPeerOf } from '../../model/bgp-peer.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { isToAnnounce } from '../cilium/announces.ts';
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
  readonly #ciliumRouters = new Map<string, boolean>();
  #heldFamilies: ReadonlySet<Family> | undefined;

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
    const byCilium = this.#byCilium(view, block);
    if (byCilium !== undefined) return byCilium;
    const peers = this.#peerNames.get(view.name);
    if (peers !== undefined) return this.#isPeer(peers, block.node);
    if (view.via.size === 0) return !learnsFromRouters(view);
    return this.#survey.views.some(
      (other) =>
        other.routes.has(block.key) && this.#neighbours.get(view.name)?.has(other.name) === true,
    );
  }

  /**
   * Is the block announced to anybody by intention? Where neither an agent of ours nor
   * Cilium's settings say so, routers do: nobody misses a block in a cluster none of whose
   * blocks any router leads to.
   */
  isMeant({ node, prefix }: SurveyedBlock): boolean {
    const { nodes, announcedBy, evidence } = this.#survey;
    const surveyed = nodes.get(node);
    if (surveyed === undefined || (surveyed.report?.status?.sessions?.length ?? 0) > 0) return true;
    if (evidence.peers.some((peer) => isPeerOf(peer, surveyed.node.labels))) return true;
    if (surveyed.byCilium !== undefined) return isToAnnounce(surveyed.byCilium, prefix);
    if (announcedBy.kind === 'unknown')
      return !announcedBy.isPerhapsNothing || this.#holdsBlocks(prefix);
    return announcedBy.kind !== 'nothing' || this.#holdsBlocks(prefix);
  }

  /**
   * Why nobody can say whether it is meant: who knows was not to be asked, and no router has
   * any block of the family. An outage of everything looks the same as a cluster that
   * announces none.
   */
  doubtAbout({ node, prefix }: SurveyedBlock): string | undefined {
    const { nodes, announcedBy, evidence } = this.#survey;
    if (announcedBy.kind !== 'unknown' || announcedBy.isUnread !== true) return undefined;
    const surveyed = nodes.get(node);
    if ((surveyed?.report?.status?.sessions?.length ?? 0) > 0) return undefined;
    if (evidence.peers.some((peer) => isPeerOf(peer, surveyed?.node.labels ?? {})))
      return undefined;
    return this.#holdsBlocks(prefix) ? undefined : announcedBy.why;
  }

  /** The owner's own agent says that it announces the block to somebody. */
  isAnnounced(block: SurveyedBlock): boolean {
    const known = this.#survey.nodes.get(block.node);
    const sessions = known?.report?.status?.sessions ?? known?.byCilium?.announcements ?? [];
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
      ...(surveyed?.byCilium?.announcements ?? [])
        .filter((one) => one.gap === undefined && one.prefix.equals(prefix))
        .map(({ peer }) => peer),
    ];
    const shown = routers.filter(({ families }) => families.has(prefix.family));
    const unseen = speaksWith.filter((peer) => !shown.some((table) => isRouterOf(table, peer)));
    if (unseen.length === 0) return false;
    return shown.every(
      (table) => table.addresses.length > 0 || speaksWith.some((peer) => isRouterOf(table, peer)),
    );
  }

  /** Undefined: no node speaks with this router by Cilium's objects. */
  #byCilium({ name }: RouteView, { node, prefix }: SurveyedBlock): boolean | undefined {
    const { evidence, nodes } = this.#survey;
    const table = evidence.routers.find(({ router }) => router === name);
    if (table === undefined) return undefined;
    const isOf = (peer: { name: string; address: string }) => isRouterOf(table, peer);
    let isKnown = this.#ciliumRouters.get(name);
    if (isKnown === undefined) {
      isKnown = [...nodes.values()].some(({ byCilium }) => byCilium?.peers.some(isOf) === true);
      this.#ciliumRouters.set(name, isKnown);
    }
    if (!isKnown) return undefined;
    const own = nodes.get(node)?.byCilium?.announcements ?? [];
    return own.some((one) => one.prefix.equals(prefix) && isOf(one.peer));
  }

  #holdsBlocks({ family }: Prefix): boolean {
    this.#heldFamilies ??= new Set(
      this.#survey.blocks
        .filter(({ key }) => isHeld(this.#survey, key))
        .map(({ prefix }) => prefix.family),
    );
    return this.#heldFamilies.has(family);
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

/** A router has exactly this block, by way of a node. */
function isHeld({ views }: Survey, key: string): boolean {
  return views.some(({ isRouter, routes }) => {
    const paths = isRouter ? (routes.get(key)?.paths ?? []) : [];
    return paths.some(({ hop }) => hop.kind === 'node');
  });
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
