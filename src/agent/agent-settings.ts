import type { ListenTarget } from '../bgp/transport/listen.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { LoadBalancerPool } from '../model/load-balancer-pool.ts';
import { usualReconfirmAfterSeconds } from '../model/node-report.ts';
import type { Prefix } from '../net/prefix.ts';
import type { Routing } from '../plan/node/desired-routes.ts';
import type { OnCordon } from '../plan/node/leaving.ts';
import type { TruthRules } from '../plan/node/node-truth.ts';

/**
 * How much of the node is the agent's. Each does less than the one before.
 *
 *   node           addresses of pods, their interfaces, routes, masquerade; announcements
 *   addresses      addresses of pods for another CNI plugin (ipam.type); announcements. The kernel
 *                  is that plugin's
 *   announcements  announcements alone: another program has the addresses and the kernel
 */
export type AgentScope = 'node' | 'addresses' | 'announcements';

export interface AgentSettings {
  nodeName: string;
  version: string;
  /** Undefined: node. */
  scope?: AgentScope | undefined;
  rules: TruthRules;
  /** cluster-pool-v2: ask for blocks as pods fill them, give empty ones back. */
  byDemand: boolean;
  /** By demand: how many addresses are kept ready. */
  preAllocate: number;
  routing: Routing;
  directRoutes: boolean;
  /** Ranges inside the blocks that no pod gets. */
  reserved: readonly Prefix[];
  /** A ConfigMap in the form of MetalLB and Cilium, followed as it changes. */
  configMap: { namespace: string; name: string } | undefined;
  /** Peers and pools of a file, which does not change. */
  filePeers: readonly BgpPeer[];
  filePools: readonly LoadBalancerPool[];
  /** Destinations that see a pod's own address; undefined: no masquerade at all. */
  masqueradeExceptions?: readonly Prefix[];
  /** What survives a restart: the journal, the lock, the spool, what was last known. */
  stateFolder: string;
  /** The Unix socket of the CNI plugin and of `cadastre status`. */
  socketPath: string;
  /** Where routers may connect; false: only connect to them. */
  bgpListen: ListenTarget | false;
  /** How long a freed address is not given again; undefined: half a minute. */
  restMs?: number;
  /** How often pods whose namespace is gone are looked for; undefined: every ten seconds. */
  sweepEveryMs?: number;
  /** How long a start waits for the API server before it goes on with what it last knew. */
  apiGraceMs: number;
  reportEveryMs: number;
  /** Without a router for longer, blocks are announced only after they are confirmed; undefined: 150 s. */
  reconfirmAfterMs?: number;
  /** Between asking the routers to look elsewhere (RFC 8326) and taking the routes back. */
  drainGraceMs: number;
  /** A taint of ours while no pod address is free. */
  taintWhenFull?: boolean;
  /** How long a machine that served the Node before has to answer; undefined: usualAnswerWithinMs. */
  answerWithinMs?: number;
  /** What a cordoned node withdraws while it still has pods; undefined: the addresses of Services. */
  onCordon?: OnCordon | undefined;
  /** How often it works; many agents in one process take turns. */
  pace?: Partial<Pace> | undefined;
}

export interface Pace {
  /** Several events in a row are one change. */
  coalesceMs: number;
  /** Seconds after which it looks even if nothing was heard. */
  lookAgainTicks: number;
  /** What was last known of other nodes is written so often; of this one at once. */
  memoryEveryMs: number;
  /** A block without pods that is gone from the register is kept for so long, for the operator to take it back. */
  missingGraceMs: number;
  /** A deleted BGPPeer or BGPAdvertisement counts for so long: its definition may be going, too. */
  definitionGraceMs: number;
}

export const usualAgentPace: Pace = {
  coalesceMs: 30,
  lookAgainTicks: 30,
  memoryEveryMs: 30_000,
  missingGraceMs: 60_000,
  definitionGraceMs: 5_000,
};
export const usualReconfirmAfterMs = usualReconfirmAfterSeconds * 1_000;
/**
 * How long another machine that served the Node has to say that it is alive. Longer than its
 * agent takes to notice that its watch is silent.
 */
export const usualAnswerWithinMs = 90_000;
/** How often pod addresses are looked at for demand, and sessions for the report. */
export const tickMs = 1_000;
/** A block that is no longer ours keeps its unreachable route so long after it was withdrawn. */
export const formerBlockMs = 2_000;
