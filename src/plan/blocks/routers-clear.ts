import { type BgpPeer, isPeerOf } from '../../model/bgp-peer.ts';
import type { Labels } from '../../model/label-selector.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { HeardRouter, HeardRouters } from './heard-routers.ts';

/**
 * What the routers of a node say about one of its blocks. A router that is not heard,
 * or not completely, says nothing: it never counts as "not held".
 */
export type RoutersVerdict =
  /** The node has no router that we know of, so none can speak. */
  | { kind: 'none' }
  | { kind: 'clear'; routers: readonly string[]; forSeconds: number }
  | { kind: 'not clear'; unheard: readonly string[]; holding: readonly string[] };

export interface RoutersQuestion {
  heard: HeardRouters;
  /** Addresses of the routers that the node has sessions with. */
  routers: ReadonlySet<string>;
  prefix: Prefix;
  /** The node's own addresses, as its routers know it. */
  nodeAddresses: readonly string[];
  nowMs: number;
}

export function routersClear(question: RoutersQuestion): RoutersVerdict {
  const { heard, routers } = question;
  if (routers.size === 0) return { kind: 'none' };
  const unheard: string[] = [];
  const holding: string[] = [];
  const names: string[] = [];
  let sinceMs = Number.NEGATIVE_INFINITY;
  for (const address of routers) {
    const known = heard.routers.filter(({ addresses }) => addresses.has(address));
    const busyMs = known.map((router) => lastBusyMs(router, question));
    const complete = known.filter((router) => canTell(router, question.prefix));
    const name = known[0]?.name ?? address;
    names.push(name);
    if (busyMs.some((ms) => ms === Number.POSITIVE_INFINITY)) holding.push(name);
    else if (complete.length === 0) unheard.push(name);
    else {
      const heardSinceMs = complete.map((one) => one.completeSinceMs[question.prefix.family] ?? 0);
      sinceMs = Math.max(sinceMs, Math.min(...heardSinceMs), ...busyMs);
    }
  }
  if (unheard.length + holding.length > 0) return { kind: 'not clear', unheard, holding };
  return { kind: 'clear', routers: names, forSeconds: (question.nowMs - sinceMs) / 1000 };
}

/**
 * A BGP session shows what the router advertises to us, and that may leave out what it holds
 * (iBGP without route reflection, a filter). It can tell that a block is gone only if it has
 * shown the block before.
 */
function canTell({ by, completeSinceMs, lastRouteMs }: HeardRouter, prefix: Prefix): boolean {
  if (completeSinceMs[prefix.family] === undefined) return false;
  return by === 'bmp' || lastRouteMs(prefix) !== undefined;
}

/** When the router last had a route to the block, or a session with the node. */
function lastBusyMs(router: HeardRouter, { prefix, nodeAddresses }: RoutersQuestion): number {
  const times = [
    router.lastRouteMs(prefix),
    ...nodeAddresses.map((address) => router.lastSessionMs(address)),
  ];
  return times.reduce<number>((last, ms) => Math.max(last, ms ?? last), Number.NEGATIVE_INFINITY);
}

/**
 * The addresses of a node's routers: those its agent reported, and the peers that
 * select it. The labels of a Node that is gone are not known any more; then every peer
 * may have been its own, unless its agent has said which ones are. A report that another
 * agent may have written can add routers to ask, and leave out none.
 */
export function routersOfNode(
  peers: readonly BgpPeer[],
  sessions: ReadonlyArray<{ address: string }> | undefined,
  labels: Labels | undefined,
  isAttributed = true,
): Set<string> {
  const selecting = peers.filter((peer) => {
    if (labels !== undefined) return isPeerOf(peer, labels);
    return sessions === undefined || !isAttributed || peer.nodeSelectors.length === 0;
  });
  return new Set([
    ...selecting.map(({ address }) => address),
    ...(sessions ?? []).map(({ address }) => address),
  ]);
}
