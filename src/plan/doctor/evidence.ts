import type { BgpPeer } from '../../model/bgp-peer.ts';
import type { CiliumSettings } from '../../model/cilium-config.ts';
import type { CiliumNode } from '../../model/cilium-node.ts';
import type { Pool } from '../../model/ip-pool.ts';
import type { ClusterNode } from '../../model/node.ts';
import type { Block } from '../../model/node-block.ts';
import type { NodeReport } from '../../model/node-report.ts';
import type { NodeReportStatus } from '../../model/node-report-status.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { NamedNetwork } from '../pools/pool-set.ts';
import type { Source } from './finding.ts';

/**
 * Everything the doctor was shown, as plain values: the hands in src/doctor (or
 * the operator's caches, or a test) fill it in, the judgement here reads it.
 * Every part may be missing. What is missing is not judged, and `sources` says
 * so; an empty list of a kind that was looked for is not the same as one that
 * was not.
 */
export interface Evidence {
  nowMs: number;
  /** How blocks are given out, if somebody said so (`--ipam`); otherwise it is read off the rest. */
  mode?: Mode | undefined;
  sources: readonly Source[];
  nodes: readonly ClusterNode[];
  ciliumNodes: readonly CiliumNode[];
  pools: readonly Pool[];
  blocks: readonly Block[];
  reports: readonly WitnessReport[];
  serviceNetworks: readonly NamedNetwork[];
  /** Ranges of load-balancer addresses: routes in them are no pods' routes. */
  loadBalancerRanges: readonly Prefix[];
  /** cilium-config, and the version of the cilium DaemonSet. */
  cilium?: CiliumSettings | undefined;
  /** The pool of the cluster-pool modes, from flags; else it is read from cilium-config. */
  clusterPool?: Pool | undefined;
  /** Who is to speak with which router; undefined: not known. */
  peers?: readonly BgpPeer[] | undefined;
  routers: readonly RouterTable[];
  /** The kernel of the machine the doctor runs on. */
  kernel?: KernelTable | undefined;
  /** kube-controller-manager's --allocate-node-cidrs; undefined: its Pod was not to be seen. */
  controllerManagerAllocates?: boolean | undefined;
  /** Addresses of pods by node; undefined: pods were not looked at. */
  pods?: readonly SeenPod[] | undefined;
}

export const modes = [
  'ip-pool',
  'cluster-pool',
  'cluster-pool-v2',
  'multi-pool',
  'kubernetes',
] as const;
export type Mode = (typeof modes)[number];

/** A NodeReport with what its agent saw. */
export type WitnessReport = NodeReport & { status?: Partial<NodeReportStatus> | undefined };

/** What one router holds, be it from a dump, a BMP feed or a session with our collector. */
export interface RouterTable {
  router: string;
  /**
   * Families that were asked for and answered whole. Only there does a missing
   * route mean that the router has not got it.
   */
  families: ReadonlySet<Family>;
  routes: readonly HeldRoute[];
  /** Its own addresses, as far as they are known: a next hop may be a router. */
  addresses: readonly string[];
}

export interface HeldRoute {
  prefix: Prefix;
  /** The text form of RFC 5952, empty for a route of the router's own. */
  nextHop: string;
  /** Traffic takes it: the best path, or one of several equal ones. */
  isUsed: boolean;
  /** Who told the router, by address or router id; helps where the next hop is a link-local one. */
  from?: string;
}

export interface KernelTable {
  /** The node it is the kernel of. */
  node: string;
  routes: ReadonlyArray<{ prefix: Prefix; via: string | undefined; isLocal: boolean }>;
}

export interface SeenPod {
  /** `namespace/name`. */
  name: string;
  node: string;
  addresses: readonly string[];
}
