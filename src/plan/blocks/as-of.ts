import { addToGroup } from '../../base/add-to-group.ts';
import type { BlockLog, HistoryEntry } from '../../model/block-history.ts';
import { isAboutRoutes } from '../../model/block-history.ts';
import type { WitnessReport } from '../../model/cluster-kinds.ts';
import type { ClusterState } from '../../model/cluster-state.ts';
import type { ClusterNode } from '../../model/node.ts';
import { type Block, blockName } from '../../model/node-block.ts';
import type { NodeReportStatus } from '../../model/node-report-status.ts';
import { timestampMs } from '../../model/object.ts';
import { parsePrefix } from '../../net/prefix.ts';

/**
 * A cluster as it was at a moment, as far as BlockHistory tells: who held which block,
 * and which node announced it to which routers. A session that carried an announcement
 * was established; of others, of kernels and of routers' tables nothing is written down,
 * and so nothing is said. Records of Nodes are those of today, and left out.
 */
export function stateAsOf(state: ClusterState, atMs: number): ClusterState {
  const blocks: Block[] = [];
  const announcing = new Map<string, Announcement[]>();
  const uids = new Map<string, string>();
  for (const log of state.history) {
    const past = log.entries.filter(({ at }) => timestampMs(at) <= atMs);
    const block = blockAfter(log, past);
    if (block !== undefined) {
      blocks.push(block);
      if (block.phase !== 'Cooling') uids.set(block.nodeName, block.nodeUid);
    }
    for (const one of announcedAfter(log.cidr, past)) addToGroup(announcing, one.node, one);
  }
  const names = new Set([...uids.keys(), ...announcing.keys()]);
  for (const node of state.nodes) if (node.createdMs <= atMs) names.add(node.name);
  const today = new Map(state.nodes.map((node) => [node.name, node]));
  const nodes = [...names].sort().map((name) => nodeOf(name, today.get(name), uids.get(name)));
  const settings = new Map(state.peers.map((peer) => [peer.name, peer]));
  return {
    ...state,
    nodes,
    blocks,
    pools: state.pools.filter(({ createdMs }) => createdMs <= atMs),
    ciliumNodes: [],
    ciliumEndpoints: undefined,
    pods: undefined,
    migrations: [],
    reports: nodes.map((node) => reportOf(node, announcing.get(node.name) ?? [], settings)),
  };
}

interface Announcement {
  node: string;
  cidr: string;
  peers: readonly string[];
  sinceMs: number;
}

function blockAfter({ cidr }: BlockLog, past: readonly HistoryEntry[]): Block | undefined {
  const prefix = parsePrefix(cidr);
  const held = past.filter((entry) => !isAboutRoutes(entry));
  const last = held.at(-1);
  if (prefix === undefined || last === undefined || last.event === 'Released') return undefined;
  const begun = held.findLast(({ event }) => event !== 'Draining' && event !== 'Cooling') ?? last;
  const isCooling = last.event === 'Cooling';
  return {
    name: blockName(prefix),
    uid: last.blockUID ?? cidr,
    resourceVersion: '',
    prefix,
    pool: last.pool ?? begun.pool ?? '',
    nodeName: last.node,
    nodeUid: last.nodeUID ?? '',
    phase: isCooling ? 'Cooling' : last.event === 'Draining' ? 'Draining' : 'Active',
    coolingSinceMs: isCooling ? timestampMs(last.at) : 0,
    guards: [],
    createdMs: timestampMs(begun.at),
    deleting: false,
  };
}

/** Whoever announced it last and did not withdraw it. */
function announcedAfter(cidr: string, past: readonly HistoryEntry[]): Announcement[] {
  const open = new Map<string, Announcement>();
  for (const { event, node, peers, at } of past) {
    if (event === 'Withdrawn') open.delete(node);
    if (event !== 'Announced') continue;
    open.set(node, { node, cidr, peers: peers ?? [], sinceMs: timestampMs(at) });
  }
  return [...open.values()];
}

/** Of a node that is gone only its name is left. */
function nodeOf(
  name: string,
  today: ClusterNode | undefined,
  uid: string | undefined,
): ClusterNode {
  const isSame = today !== undefined && (uid === undefined || uid === '' || uid === today.uid);
  const bare: ClusterNode = {
    name,
    uid: uid ?? '',
    resourceVersion: '',
    labels: {},
    createdMs: 0,
    podCidrs: [],
    annotations: {},
    hasAnnotations: false,
    addresses: [],
    condition: undefined,
  };
  if (!isSame) return bare;
  const { labels, addresses, createdMs } = today;
  return { ...bare, uid: today.uid, labels, addresses, createdMs };
}

function reportOf(
  node: ClusterNode,
  announced: readonly Announcement[],
  settings: ReadonlyMap<string, { address: string; asn: number }>,
): WitnessReport {
  const byPeer = new Map<string, Announcement[]>();
  for (const one of announced) for (const peer of one.peers) addToGroup(byPeer, peer, one);
  const status: Partial<NodeReportStatus> = {
    sessions: [...byPeer]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([peer, routes]) => ({
        peer,
        address: settings.get(peer)?.address ?? '',
        asn: settings.get(peer)?.asn ?? 0,
        state: 'Established',
        establishedAt: new Date(Math.min(...routes.map(({ sinceMs }) => sinceMs))).toISOString(),
        announced: routes.map(({ cidr }) => ({ prefix: cidr, nextHop: node.addresses[0] ?? '' })),
      })),
  };
  const identity = { name: node.name, uid: '', resourceVersion: '' };
  return { ...identity, nodeUid: node.uid, neededAddresses: {}, releases: [], status };
}
