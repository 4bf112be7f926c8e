/**
 * The router's side of our sessions, as a model: which neighbours it has, in which AS, over
 * which families, what it takes from them, and how much. `dialects/` prints it in the words of
 * each maker. Nothing of it is decided by a printer.
 *
 * In: what the cluster is (ClusterState), which peers stand for the router. Out: a RouterSide,
 * with notes about what a person must still do. A session's further settings (BFD, once peers
 * have it) become fields of NeighbourGroup.
 */
import { type BgpPeer, isPeerOf } from '../../model/bgp-peer.ts';
import type { ClusterState } from '../../model/cluster-state.ts';
import type { ClusterNode } from '../../model/node.ts';
import { withPeerDefaults } from '../../model/peer-settings.ts';
import { parseAddress } from '../../net/address.ts';
import { type Family, families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { type PrefixFilter, prefixFilters } from './prefix-filters.ts';

export interface RouterSide {
  router: string;
  asn: number;
  /** Printed only where somebody gave it: a router has one already. */
  routerId?: string | undefined;
  groups: NeighbourGroup[];
  /** What is taken from the neighbours, and nothing else; none of them is told anything. */
  filters: Record<Family, PrefixFilter[]>;
  notes: string[];
}

/** Nodes that have the same session with the router: one BGPPeer, or one entry of the ConfigMap. */
export interface NeighbourGroup {
  name: string;
  /** The nodes' AS. */
  asn: number;
  isInternal: boolean;
  /** The router's end. */
  routerAddress: string;
  families: readonly Family[];
  neighbours: ReadonlyArray<{ node: string; address: string }>;
  /** In the place of `neighbours`: whoever connects from there in that AS is one. */
  listenRange?: Prefix | undefined;
  holdSeconds: number;
  keepaliveSeconds: number;
  multihopTtl?: number | undefined;
  ttlSecurityHops?: number | undefined;
  /** The secret itself is never printed. */
  hasPassword: boolean;
  /** IPv4 routes over an IPv6 session (RFC 8950). */
  hasExtendedNextHop: boolean;
  maximumPrefixes: Record<Family, number>;
}

export interface RouterQuestion {
  /** Names or addresses of the peers that are this router; the first is what it is called. */
  router: readonly string[];
  listenRange?: Prefix | undefined;
  routerId?: string | undefined;
  maximumPrefixes?: number | undefined;
}

export type RouterAnswer =
  | { kind: 'side'; side: RouterSide }
  | { kind: 'refused'; problem: string; remedy: string };

export function routerSide(state: ClusterState, question: RouterQuestion): RouterAnswer {
  const peers = question.router.flatMap((name) =>
    state.peers.filter((peer) => isNamed(peer, name)),
  );
  const chosen = [...new Set(peers)];
  const [first] = chosen;
  if (first === undefined) {
    const names = state.peers.map(({ name, address }) => `${name} (${address})`);
    return {
      kind: 'refused',
      problem: `no BGPPeer has the name or address ${question.router.join(', ')}`,
      remedy: names.length > 0 ? `Peers: ${names.join(', ')}.` : 'There is no BGPPeer at all.',
    };
  }
  const other = chosen.find(({ asn }) => asn !== first.asn);
  if (other !== undefined) {
    return {
      kind: 'refused',
      problem: `${first.name} is in AS ${first.asn} and ${other.name} in AS ${other.asn}: not one router`,
      remedy: 'Name the peers of one router.',
    };
  }
  const filters = prefixFilters(state);
  const notes: string[] = [];
  const groups = chosen.map((peer, at) => groupOf(state.nodes, peer, at, question, filters, notes));
  for (const family of families) {
    const isUsed = groups.some((group) => group.families.includes(family));
    if (isUsed && filters[family].length === 0) {
      notes.push(
        `there is no ${family} pool and no ${family} block: no ${family} prefix is accepted`,
      );
    }
  }
  const { router, routerId } = question;
  return {
    kind: 'side',
    side: { router: router[0]!, asn: first.asn, routerId, groups, filters, notes },
  };
}

function isNamed({ name, address }: BgpPeer, text: string): boolean {
  return name === text || parseAddress(address)?.toString() === parseAddress(text)?.toString();
}

function groupOf(
  nodes: readonly ClusterNode[],
  peer: BgpPeer,
  at: number,
  { listenRange, maximumPrefixes }: RouterQuestion,
  filters: Record<Family, PrefixFilter[]>,
  notes: string[],
): NeighbourGroup {
  const settings = withPeerDefaults(peer);
  const transport = parseAddress(peer.address)?.family ?? 'ipv4';
  const neighbours: Array<{ node: string; address: string }> = [];
  for (const node of [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!isPeerOf(peer, node.labels)) continue;
    const address =
      peer.localAddress ?? node.addresses.find((one) => parseAddress(one)?.family === transport);
    if (address === undefined)
      notes.push(`node ${node.name} has no ${transport} address and no session`);
    else neighbours.push({ node: node.name, address });
  }
  if (neighbours.length === 0) notes.push(`no node has a session with ${peer.name}`);
  if (peer.port !== undefined && peer.port !== 179) {
    notes.push(`nodes connect to port ${peer.port}: have the router listen there`);
  }
  const limit = (family: Family) => maximumPrefixes ?? mostOf(filters[family]);
  return {
    name: at === 0 ? 'CADASTRE' : `CADASTRE-${at + 1}`,
    asn: peer.localAsn,
    isInternal: peer.localAsn === peer.asn,
    routerAddress: peer.address,
    families: families.filter((family) => settings.families.includes(family)),
    neighbours,
    listenRange: listenRange?.family === transport ? listenRange : undefined,
    holdSeconds: settings.holdSeconds,
    keepaliveSeconds:
      settings.keepaliveSeconds ?? Math.max(1, Math.floor(settings.holdSeconds / 3)),
    multihopTtl: settings.multihopTtl,
    ttlSecurityHops: settings.ttlSecurityHops,
    hasPassword: settings.password !== undefined,
    hasExtendedNextHop: transport === 'ipv6' && settings.families.includes('ipv4'),
    maximumPrefixes: { ipv4: limit('ipv4'), ipv6: limit('ipv6') },
  };
}

/** What one node can announce at the most: its blocks of every pool, and every Service address. */
function mostOf(filters: readonly PrefixFilter[]): number {
  const sum = filters.reduce((all, { mostOfNode }) => all + mostOfNode, 0);
  return Math.max(leastLimit, sum);
}

/** So that a pool that is added later does not end sessions before the router is told. */
const leastLimit = 32;

/** A filter that admits prefixes of exactly its own length needs no bounds. */
export const isExact = ({ prefix, minLength, maxLength }: PrefixFilter) =>
  prefix.length === minLength && minLength === maxLength;
