import type { ClusterState } from '../../model/cluster-state.ts';
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Source } from './finding.ts';

/**
 * Everything the comparison was shown, as plain values: what the cluster is, and
 * what routers and a kernel hold. Every part may be missing. What is missing is
 * not judged, and `sources` says so.
 */
export interface Evidence extends ClusterState {
  nowMs: number;
  sources: readonly Source[];
  routers: readonly RouterTable[];
  /** The kernel of the machine the doctor runs on. */
  kernel?: KernelTable | undefined;
  /**
   * Pods were listed at another moment than reports were read: where pods come and go, the
   * numbers of the two are never the same, and are not compared.
   */
  isPodListApart?: boolean | undefined;
}

/** A cluster and its witnesses. */
export function evidenceOf(
  state: ClusterState,
  witnesses: {
    nowMs: number;
    sources?: readonly Source[];
    routers?: readonly RouterTable[];
    kernel?: KernelTable | undefined;
    isPodListApart?: boolean | undefined;
  },
): Evidence {
  return { ...state, sources: [], routers: [], ...witnesses };
}

/** What one router holds, be it from a dump, a BMP feed or a session with our collector. */
export interface RouterTable {
  router: string;
  /**
   * Families that were asked for and answered whole. Only there does a missing
   * route mean that the router has not got it.
   */
  families: ReadonlySet<Family>;
  routes: readonly RouterRoute[];
  /** Its own addresses, as far as they are known: a next hop may be a router. */
  addresses: readonly string[];
}

export interface RouterRoute {
  prefix: Prefix;
  /** The text form of RFC 5952, empty for a route of the router's own. */
  nextHop: string;
  /** Traffic takes it: the best path, or one of several equal ones. */
  isUsed: boolean;
  /** Who advertised it, by address or router id; helps where the next hop is a link-local one. */
  from?: string;
  /** Where the router has it from, where its table says so: bgp, static, connected, ospf … */
  protocol?: string;
  /** The AS path without the origin; empty for a route of the own AS. */
  asPath?: string;
}

export interface KernelTable {
  /** The node it is the kernel of. */
  node: string;
  routes: ReadonlyArray<{ prefix: Prefix; via: string | undefined; isLocal: boolean }>;
}
