import { plural } from '../../base/count-text.ts';
import type { Reason } from '../../model/reasons.ts';
import { parseAddress } from '../../net/address.ts';
import { families as bothFamilies, type Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { NodePeer } from './node-peers.ts';

/**
 * Why a block that the node owns is not advertised to a router. The other half of
 * desired-announcements: what is desired and not there always has a reason here.
 */
export interface Unannounced {
  cidr: string;
  /** Absent: to no router at all. */
  peer?: string;
  reason: UnannouncedReason;
  detail: string;
}

export type UnannouncedReason = Extract<
  Reason,
  | 'NodeDraining'
  | 'NotOwner'
  | 'KernelRoutePending'
  | 'NoPeerSelectsNode'
  | 'PeerRefused'
  | 'SessionNotEstablished'
  | 'FamilyNotNegotiated'
  | 'NoNextHop'
  | 'AnnouncementRefused'
  | 'AnnouncementPending'
  | 'BlockFenced'
  | 'BlockUnconfirmed'
  | 'BlockMissing'
>;

/** A session with a router, as the speaker has it now. */
export interface AnnouncingSession {
  readonly peer: string;
  /** As RFC 4271 §8.2.2 names them; or Refused. */
  readonly state: string;
  readonly lastError?: string | undefined;
  /** What both sides agreed on. */
  readonly families: readonly string[];
  /** Prefixes that were sent. */
  readonly advertised: ReadonlySet<string>;
  /** Prefixes that cannot be sent, with the reason. */
  readonly refused: Readonly<Record<string, string>>;
}

export interface UnannouncedInput {
  readonly node: string;
  readonly owned: readonly Prefix[];
  /** Blocks that another, older node holds too, and why this one is silent about them. */
  readonly contested: ReadonlyMap<string, string>;
  /** Why the node has withdrawn its routes, if it is being drained. */
  readonly leaving?: string | undefined;
  /** Blocks that are not used as usual, and why (block-use.ts). */
  readonly held?: ReadonlyMap<string, { reason: UnannouncedReason; detail: string }>;
  /** Why the kernel has not taken the node's routes yet, if so: nothing new is announced before. */
  readonly kernelProblem?: string | undefined;
  /** All that are configured, whichever nodes they select. */
  readonly configuredPeers: number;
  readonly peers: readonly NodePeer[];
  readonly sessions: readonly AnnouncingSession[];
}

export function unannouncedBlocks(input: UnannouncedInput): Unannounced[] {
  return [...input.owned].sort((a, b) => a.compare(b)).flatMap((block) => whyOfBlock(block, input));
}

function whyOfBlock(block: Prefix, input: UnannouncedInput): Unannounced[] {
  const { node, contested, leaving, kernelProblem, configuredPeers, peers, sessions } = input;
  const cidr = block.toString();
  const all = (reason: UnannouncedReason, detail: string) => [{ cidr, reason, detail }];
  if (peers.length === 0) {
    const detail =
      configuredPeers === 0
        ? 'no BGP peer is configured'
        : `none of ${plural(configuredPeers, 'configured BGP peer')} selects ${node} by its labels`;
    return all('NoPeerSelectsNode', detail);
  }
  const session = new Map(sessions.map((one) => [one.peer, one]));
  const missing = peers.filter(({ name }) => !session.get(name)?.advertised.has(cidr));
  if (missing.length === 0) return [];
  if (leaving !== undefined) {
    const detail = `${node} is being drained; its routes are withdrawn: ${leaving}`;
    return all('NodeDraining', detail);
  }
  const held = input.held?.get(cidr);
  if (held !== undefined) return all(held.reason, held.detail);
  const silence = contested.get(cidr);
  if (silence !== undefined) return all('NotOwner', silence);
  if (kernelProblem !== undefined) {
    const detail = `the kernel has not taken the routes of ${node} yet: ${kernelProblem}`;
    return all('KernelRoutePending', detail);
  }
  return missing.map((peer) => ({
    cidr,
    peer: peer.name,
    ...whyOfPeer(block, peer, session.get(peer.name), node),
  }));
}

function whyOfPeer(
  block: Prefix,
  peer: NodePeer,
  session: AnnouncingSession | undefined,
  node: string,
): Pick<Unannounced, 'reason' | 'detail'> {
  const { family } = block;
  const { state = 'Idle', lastError, families = [], refused = {} } = session ?? {};
  const because = lastError === undefined ? '' : `: ${lastError}`;
  if (state === 'Refused') {
    const detail = `peer ${peer.name} cannot be served as it is configured${because}`;
    return { reason: 'PeerRefused', detail };
  }
  if (state !== 'Established') {
    const detail = `the session with ${peer.name} (${peer.address}) is ${state}${because}`;
    return { reason: 'SessionNotEstablished', detail };
  }
  if (!families.includes(family)) {
    const whose = (peer.families ?? bothFamilies).includes(family)
      ? `${peer.name} did not agree to carry`
      : `peer ${peer.name} is not configured to carry`;
    return { reason: 'FamilyNotNegotiated', detail: `${whose} ${nameOf[family]} routes` };
  }
  const why = refused[block.toString()];
  if (why !== undefined && !hasNextHop(peer, family)) {
    const detail = `${node} has no ${nameOf[family]} address (InternalIP) to name to ${peer.name} as next hop`;
    return { reason: 'NoNextHop', detail };
  }
  if (why !== undefined) {
    return { reason: 'AnnouncementRefused', detail: `it cannot be sent to ${peer.name}: ${why}` };
  }
  return { reason: 'AnnouncementPending', detail: `it is about to be sent to ${peer.name}` };
}

const nameOf: Readonly<Record<Family, string>> = { ipv4: 'IPv4', ipv6: 'IPv6' };

/** The session's own address is one for its own family. */
function hasNextHop({ address, nextHop }: NodePeer, family: Family): boolean {
  return parseAddress(address)?.family === family || nextHop?.[family] !== undefined;
}
