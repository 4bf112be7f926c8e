/**
 * The doctor's room: it asks every source the same question, "what do you
 * hold?", and hands the answers to `plan/doctor`, which compares.
 *
 *   rib/            routers' own dumps: FRR, GoBGP, BIRD, OpenBGPD
 *   listen          routers that speak to us: BMP, or a BGP session
 *   local-kernel    the routes of this machine
 *   assemble        all of it as Evidence, each source named with its age
 *   render          the report as text fit for a chat
 *
 * In: objects (from a cluster or from files), dumps, sessions. Out: Evidence.
 * Load-bearing: whatever was asked for and could not be read becomes a source
 * of state `unseen` or `partly`; nothing is dropped in silence.
 */

import { plural } from '../base/count-text.ts';
import { loadConfigMapObject } from '../model/bgp-config-map.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { peerOfConfig, readBgpPeer } from '../model/bgp-peer.ts';
import {
  type CiliumSettings,
  type CiliumVersion,
  ciliumConfigName,
  readCiliumConfig,
  readCiliumVersion,
} from '../model/cilium-config.ts';
import type { CiliumNode } from '../model/cilium-node.ts';
import type { Pool } from '../model/ip-pool.ts';
import type { ClusterNode } from '../model/node.ts';
import type { Block } from '../model/node-block.ts';
import { readNodeReport } from '../model/node-report.ts';
import type { NodeReportStatus } from '../model/node-report-status.ts';
import type { KubeObject } from '../model/object.ts';
import type {
  Evidence,
  KernelTable,
  Mode,
  RouterTable,
  SeenPod,
  WitnessReport,
} from '../plan/doctor/evidence.ts';
import type { Source } from '../plan/doctor/finding.ts';
import type { NamedNetwork } from '../plan/pools/pool-set.ts';
import { loadBalancerRanges } from './load-balancer-ranges.ts';
import { readControllerManager, readPods } from './read-pods.ts';

/** Objects as a command line has read them, from wherever. */
export interface SeenObjects {
  nodes: readonly ClusterNode[];
  ciliumNodes: readonly CiliumNode[];
  pools: readonly Pool[];
  blocks: readonly Block[];
  serviceNetworks: readonly NamedNetwork[];
  /** Everything else that was read, as it came. */
  others: readonly KubeObject[];
  kind: 'cluster' | 'objects';
  /** How old objects of a kind are, in seconds; null: nobody knows. */
  ageOf(kind: string): number | null;
  /** Kinds that were asked for and could not be read, with the reason. */
  unseen: ReadonlyArray<{ kind: string; why: string }>;
}

export interface Seen {
  nowMs: number;
  mode?: Mode | undefined;
  objects: SeenObjects;
  ciliumVersion?: CiliumVersion | undefined;
  clusterPool?: Pool | undefined;
  serviceNetworks?: readonly NamedNetwork[] | undefined;
  routers: ReadonlyArray<{ table: RouterTable; source: Source }>;
  kernel?: { table: KernelTable; source: Source } | undefined;
}

export function assemble(seen: Seen): Evidence {
  const { objects, nowMs } = seen;
  const cilium = ciliumOf(seen);
  const reports = reportsOf(objects.others);
  const hasReports = reports.length > 0;
  const peers = peersOf(objects.others);
  const pods = hasReports ? podsOf(objects) : undefined;
  return {
    nowMs,
    mode: seen.mode,
    nodes: objects.nodes,
    ciliumNodes: objects.ciliumNodes,
    pools: objects.pools,
    blocks: objects.blocks,
    reports,
    serviceNetworks: [...(seen.serviceNetworks ?? []), ...objects.serviceNetworks],
    loadBalancerRanges: loadBalancerRanges(objects.others),
    cilium,
    clusterPool: seen.clusterPool,
    peers: peers.length > 0 ? peers : undefined,
    routers: seen.routers.map(({ table }) => table),
    kernel: seen.kernel?.table,
    controllerManagerAllocates: readControllerManager(objects.others),
    pods,
    sources: [
      ...objectSources(seen, cilium, reports),
      ...seen.routers.map(({ source }) => source),
      ...(seen.routers.length === 0 ? [noRouter] : []),
      ...(seen.kernel === undefined ? [] : [seen.kernel.source]),
    ],
  };
}

const noRouter: Source = {
  name: 'routers',
  kind: 'rib',
  state: 'unseen',
  ageSeconds: null,
  holds: 'nothing',
  note: 'no router was shown (--rib NAME=FILE, --listen): what routers hold is not known',
};

function objectSources(
  { objects }: Seen,
  cilium: CiliumSettings | undefined,
  reports: readonly WitnessReport[],
): Source[] {
  const { kind, ageOf, unseen } = objects;
  const why = (name: string) => unseen.find((one) => one.kind === name)?.why;
  const source = (
    name: string,
    of: string,
    count: number,
    whatNot: string,
    holds = plural(count, of),
  ): Source => {
    const refusal = why(of);
    const isSeen = count > 0 && refusal === undefined;
    return {
      name,
      kind: of === 'NodeReport' ? 'report' : kind,
      state: isSeen ? 'seen' : 'unseen',
      ageSeconds: isSeen ? ageOf(of) : null,
      holds: isSeen ? holds : 'nothing',
      ...(isSeen ? {} : { note: refusal ?? whatNot }),
    };
  };
  const sources = [
    source('nodes', 'Node', objects.nodes.length, 'there is no Node: nobody owns anything'),
  ];
  sources.push(
    source('ciliumnodes', 'CiliumNode', objects.ciliumNodes.length, 'no CiliumNode'),
    ciliumSource(objects, cilium, why('ConfigMap')),
    source(
      'register',
      'NodeBlock',
      objects.blocks.length,
      'no NodeBlock: Cadastre gives out nothing here',
    ),
    source(
      'agents',
      'NodeReport',
      reports.length,
      'no NodeReport: what agents hand out, kernels route and sessions carry was not compared',
    ),
  );
  return sources;
}

function ciliumSource(
  { kind, ageOf }: SeenObjects,
  cilium: CiliumSettings | undefined,
  refusal: string | undefined,
): Source {
  if (cilium === undefined) {
    const note = refusal ?? `no ConfigMap ${ciliumConfigName}`;
    return {
      name: 'cilium-config',
      kind,
      state: 'unseen',
      ageSeconds: null,
      holds: 'nothing',
      note,
    };
  }
  const { ipam, clusterPool, version, bgp, problems } = cilium;
  const pools = [clusterPool.ipv4, clusterPool.ipv6]
    .filter(({ cidrs }) => cidrs.length > 0)
    .map(({ cidrs, maskSize }) => `${cidrs.join(' ')} in /${maskSize}`);
  const words = [
    `ipam ${ipam}`,
    ...(ipam.startsWith('cluster-pool') ? pools : []),
    version === undefined ? 'version not known' : `Cilium ${version.major}.${version.minor}`,
    bgp === 'off' ? 'announces no pods' : 'announces pods by BGP',
  ];
  return {
    name: 'cilium-config',
    kind,
    state: problems.length > 0 ? 'partly' : 'seen',
    ageSeconds: ageOf('ConfigMap'),
    holds: words.join(', '),
    ...(problems.length > 0 ? { note: problems.join('; ') } : {}),
  };
}

function ciliumOf({ objects, ciliumVersion }: Seen): CiliumSettings | undefined {
  const map = objects.others.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === ciliumConfigName,
  );
  if (map === undefined) return undefined;
  const daemonSet = objects.others.find(
    ({ kind, metadata }) => kind === 'DaemonSet' && metadata?.name === 'cilium',
  );
  const version =
    ciliumVersion ?? (daemonSet === undefined ? undefined : readCiliumVersion(daemonSet));
  return { ...readCiliumConfig(map), version };
}

function reportsOf(others: readonly KubeObject[]): WitnessReport[] {
  return others
    .filter(({ kind }) => kind === 'NodeReport')
    .map((object) => ({
      ...readNodeReport(object),
      status: (object.status ?? undefined) as Partial<NodeReportStatus> | undefined,
    }));
}

/** BGPPeers, and the peers of Cilium's own ConfigMap for its BGP mode up to 1.13. */
function peersOf(others: readonly KubeObject[]): BgpPeer[] {
  const peers: BgpPeer[] = [];
  for (const object of others) {
    if (object.kind === 'BGPPeer') {
      const read = readBgpPeer(object);
      if (read.kind === 'peer') peers.push(read.peer);
    }
    if (object.kind === 'ConfigMap' && object.metadata?.name === 'bgp-config') {
      const read = loadConfigMapObject(object as { data?: Record<string, string> });
      if (read.kind === 'config') peers.push(...read.config.peers.map(peerOfConfig));
    }
  }
  return peers;
}

function podsOf({ others, unseen }: SeenObjects): SeenPod[] | undefined {
  if (unseen.some(({ kind }) => kind === 'Pod')) return undefined;
  const pods = readPods(others);
  return pods.length > 0 ? pods : undefined;
}
