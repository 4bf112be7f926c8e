/** What an agent saw and did, as its NodeReport states it. */
import type { Family } from '../net/family.ts';
import type { Condition } from './object.ts';

export interface NodeReportStatus {
  agentVersion: string;
  startedAt: string;
  blocks: ReportedBlock[];
  kernel: ReportedKernel;
  sessions: ReportedSession[];
  /** Owned blocks that are not advertised to a router, each with its reason; absent from older agents. */
  unannounced?: ReportedUnannounced[];
  /** Own blocks, or pieces of them, that a router reaches elsewhere; absent from older agents. */
  hijacks?: ReportedHijack[];
  /** Absent or null unless the node is being drained. */
  drain?: ReportedDrain | null;
  findings: Array<{ reason: string; cidr: string; detail: string }>;
  conditions: Condition[];
}

export interface ReportedBlock {
  cidr: string;
  pool: string;
  draining: boolean;
  pods: number;
  resting: number;
  /** Text: an IPv6 block has more addresses than a number can count. */
  total: string;
}

export interface ReportedHijack {
  /** The node's own block. */
  cidr: string;
  /** What the router advertises: the block, or a piece of it. */
  prefix: string;
  peer: string;
  nextHop: string;
  /** What this node advertises to that peer, if it does. */
  ownNextHop?: string;
  since?: string;
}

export interface ReportedKernel {
  wanted: number;
  held: number;
  repaired: number;
  /** Own blocks that the kernel holds a route for. */
  ownRoutes: string[];
  refused: Array<{ route: string; reason: string }>;
}

export interface ReportedSession {
  peer: string;
  address: string;
  asn: number;
  localAsn?: number;
  state: string;
  /** Absent unless it is. */
  establishedAt?: string;
  /** What both sides agreed to carry. */
  families?: ReportedFamily[];
  lastError?: string;
  announced: ReportedRoute[];
}

export interface ReportedFamily {
  family: Family;
  /** Prefixes that the router advertised to us; none is used. */
  received: number;
  advertised: number;
}

export interface ReportedRoute {
  prefix: string;
  nextHop: string;
  since?: string;
  /** Path, preference and communities, as people read them. */
  attributes?: string;
}

export interface ReportedUnannounced {
  cidr: string;
  /** Absent: to no router at all. */
  peer?: string;
  /** A word of model/reasons. */
  reason: string;
  detail: string;
}

/** How far the node has come in taking its routes back, step by step. */
export interface ReportedDrain {
  /** In the order in which they were reached. */
  steps: Array<{ step: DrainStep; at: string; detail: string }>;
}

export const drainSteps = [
  'Asked',
  'GracefulShutdown',
  'Acknowledged',
  'Moved',
  'Kept',
  'Withdrawn',
] as const;
export type DrainStep = (typeof drainSteps)[number];
