/** What an agent saw and did, as its NodeReport tells the doctor and people. */
import type { Condition } from './object.ts';

export interface NodeReportStatus {
  agentVersion: string;
  startedAt: string;
  blocks: ReportedBlock[];
  kernel: ReportedKernel;
  sessions: ReportedSession[];
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
  state: string;
  lastError?: string;
  announced: Array<{ prefix: string; nextHop: string }>;
}
