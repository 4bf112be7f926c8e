import { addToGroup } from '../base/add-to-group.ts';
import { type Family, families } from '../net/family.ts';
import { parsePrefix } from '../net/prefix.ts';
import { agentPolicyAnnotation } from './agent-policy.ts';
import type { Block } from './node-block.ts';
import type { NodeReportStatus, ReportedSession } from './node-report-status.ts';
import { type Identity, identityOf, type KubeObject } from './object.ts';

/**
 * NodeReport: what a node's agent states about itself. The operator reads two
 * things: how many addresses the node needs (cluster-pool-v2), and which blocks
 * the agent has emptied and gives back. It is named after the node and fenced by
 * the node's uid.
 *
 * A release names the block's uid too. The lowest free block is often the one
 * that was given back last, so the same CIDR soon comes to the same node again,
 * and a release that outlived its block would take the new one away under its
 * pods. The agent keeps a release in the list until that NodeBlock is gone.
 */
export interface NodeReport extends Identity {
  nodeUid: string;
  neededAddresses: Readonly<Partial<Record<Family, number>>>;
  releases: readonly BlockRelease[];
  /** Which agent, on which machine, wrote it; absent from earlier versions, as all below. */
  agent?: ReportingAgent;
  /** Its agent only announces: another program gives addresses out of the blocks. Absent: it gives them itself. */
  scope?: typeof announcementsOnly;
  /** Blocks that it uses, whatever the register says. */
  uses?: readonly BlockUse[];
  /** Withdrawn from every router, and not used again before the API server confirms them. */
  fenced?: readonly BlockRelease[];
  /** Withdrawn after so many seconds without word from the API server. */
  silentAfter?: ReadonlyArray<BlockRelease & { seconds: number }>;
  /** Without a router for so long, it announces nothing to it again unconfirmed. */
  reconfirmAfterSeconds?: number;
  /** The peers that each prefix is advertised to, by name; absent without a session. */
  announced?: ReadonlyMap<string, readonly string[]>;
  /** Pods that live in its blocks. */
  pods?: number;
  /** The admission policy that was in force when its agent wrote the spec. */
  underPolicy?: string;
}

/**
 * What an agent reports as `reconfirmAfterSeconds` if nobody says otherwise. Longer than a
 * router takes to restart, and than our hold time; the operator waits for twice as long
 * before routers may testify (decision 29).
 */
export const usualReconfirmAfterSeconds = 150;

/** `spec.scope` of an agent with --announce-only. */
export const announcementsOnly = 'Announcements';

export interface ReportingAgent {
  /** New with every start. */
  id: string;
  machine: string;
}

export interface BlockUse {
  cidr: string;
  uid?: string;
}

export interface BlockRelease {
  cidr: string;
  uid: string;
}

export function readNodeReport(object: KubeObject): NodeReport {
  const spec = (object.spec ?? {}) as Record<string, unknown>;
  const needed = (spec.neededAddresses ?? {}) as Record<string, unknown>;
  const neededAddresses: Partial<Record<Family, number>> = {};
  for (const family of families) {
    const count = needed[family];
    if (typeof count === 'number' && count > 0) {
      neededAddresses[family] = Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER);
    }
  }
  const releases: unknown[] = Array.isArray(spec.releases) ? spec.releases : [];
  const announced = readAnnounced(object.status);
  const isAnnouncer = spec.scope === announcementsOnly;
  const pods = isAnnouncer ? undefined : readPods(object.status);
  const underPolicy = object.metadata?.annotations?.[agentPolicyAnnotation];
  return {
    ...(underPolicy === undefined ? {} : { underPolicy }),
    ...(announced.size > 0 ? { announced } : {}),
    ...(pods === undefined ? {} : { pods }),
    ...identityOf(object),
    nodeUid: typeof spec.nodeUID === 'string' ? spec.nodeUID : '',
    neededAddresses: isAnnouncer ? {} : neededAddresses,
    releases: isAnnouncer ? [] : releases.filter(isRelease),
    ...readPromises(spec, isAnnouncer),
  };
}

/**
 * Left out where there is nothing: most reports of a large cluster have none of these. An agent
 * that only announces does not know whether pods use a block, so nothing that it might say about
 * that is read.
 */
function readPromises(spec: Record<string, unknown>, isAnnouncer: boolean): Partial<NodeReport> {
  const entries = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  const { id, machine } = (spec.agent ?? {}) as Partial<ReportingAgent>;
  const uses = isAnnouncer ? [] : entries(spec.uses).filter(isUse);
  const fenced = isAnnouncer ? [] : entries(spec.fenced).filter(isRelease);
  const silentAfter = entries(spec.silentAfter).filter(isSilence);
  const { reconfirmAfterSeconds } = spec;
  return {
    ...(typeof id === 'string' && typeof machine === 'string' ? { agent: { id, machine } } : {}),
    ...(isAnnouncer ? { scope: announcementsOnly } : {}),
    ...(uses.length > 0 ? { uses } : {}),
    ...(fenced.length > 0 ? { fenced } : {}),
    ...(silentAfter.length > 0 ? { silentAfter } : {}),
    ...(typeof reconfirmAfterSeconds === 'number' ? { reconfirmAfterSeconds } : {}),
  };
}

/** A file, or an agent of another version, may hold anything there. */
function readAnnounced(status: unknown): Map<string, readonly string[]> {
  const { sessions } = (status ?? {}) as Partial<NodeReportStatus>;
  const found = new Map<string, string[]>();
  for (const session of Array.isArray(sessions) ? sessions : []) {
    const { peer, announced } = (session ?? {}) as Partial<ReportedSession>;
    if (typeof peer !== 'string' || !Array.isArray(announced)) continue;
    for (const one of announced) {
      if (typeof one?.prefix !== 'string') continue;
      addToGroup(found, one.prefix, peer);
    }
  }
  return found;
}

function readPods(status: unknown): number | undefined {
  const { blocks } = (status ?? {}) as Partial<NodeReportStatus>;
  if (!Array.isArray(blocks)) return undefined;
  return blocks.reduce((sum, one) => sum + (typeof one?.pods === 'number' ? one.pods : 0), 0);
}

function isRelease(value: unknown): value is BlockRelease {
  const { cidr, uid } = (value ?? {}) as Partial<BlockRelease>;
  return typeof cidr === 'string' && typeof uid === 'string';
}

function isUse(value: unknown): value is BlockUse {
  return typeof ((value ?? {}) as Partial<BlockUse>).cidr === 'string';
}

function isSilence(value: unknown): value is BlockRelease & { seconds: number } {
  return isRelease(value) && typeof (value as { seconds?: unknown }).seconds === 'number';
}

/** The report, if it is of an agent that gives the node's addresses: only such a one knows what is in use. */
export function allocatorReport(report: NodeReport | undefined): NodeReport | undefined {
  return report?.scope === announcementsOnly ? undefined : report;
}

/** Whether the agent has withdrawn this very block and will not use it again unasked. */
export function isFenced(report: NodeReport | undefined, block: Block): boolean {
  if (report === undefined || report.nodeUid !== block.nodeUid) return false;
  return report.fenced?.some(({ uid }) => uid === block.uid) === true;
}

/** Whether the node's agent has emptied this very block and gives it back. */
export function gaveBack(report: NodeReport | undefined, block: Block): boolean {
  if (report === undefined || report.nodeUid !== block.nodeUid) return false;
  return report.releases.some(
    ({ cidr, uid }) => uid === block.uid && parsePrefix(cidr)?.equals(block.prefix),
  );
}
