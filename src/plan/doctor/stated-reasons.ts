import { type Cure, cure, joinedCures } from '../../model/cures.ts';
import type { ReportedUnannounced } from '../../model/node-report-status.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { announcingGaps } from '../cilium/announces.ts';
import type { UnannouncedReason } from '../node/unannounced.ts';
import type { SurveyedNode } from './survey.ts';

/**
 * Why a node's agent says that it does not advertise a block of its own
 * (NodeReport.status.unannounced). Records and router tables show that a route is
 * missing; only the agent knows what it waits for.
 */
export interface StatedReason {
  /** For the finding's `says`. */
  says: Record<string, string>;
  /** What to do about it; undefined: the reason passes by itself, or nobody stated one. */
  fix: Cure | undefined;
}

export function statedReason(surveyed: SurveyedNode | undefined, key: string): StatedReason {
  const name = surveyed?.node.name ?? '';
  const all: readonly ReportedUnannounced[] | undefined = surveyed?.report?.status?.unannounced;
  // An agent of another version, or a file, may hold anything there.
  const stated = Array.isArray(all) ? all.filter(({ cidr }) => cidr === key) : [];
  if (stated.length === 0) return statedByCilium(surveyed, key);
  const words = stated.map(({ reason, detail }) => `${reason}: ${detail}`);
  const cures = stated.flatMap(({ reason }) => {
    const known = Object.hasOwn(cureOf, reason) ? cureOf[reason as UnannouncedReason] : undefined;
    return known === undefined ? [] : [known(name)];
  });
  return {
    says: { [`agent of ${name}`]: words.join('; ') },
    fix: cures.length === 0 ? undefined : joinedCures(cures),
  };
}

/** The same where Cilium announces: its BGP objects and their status say it. */
function statedByCilium(surveyed: SurveyedNode | undefined, key: string): StatedReason {
  const prefix = parsePrefix(key);
  if (surveyed?.byCilium === undefined || prefix === undefined) return { says: {}, fix: undefined };
  const gaps = announcingGaps(surveyed.byCilium, surveyed.node.name, prefix);
  if (gaps.length === 0) return { says: {}, fix: undefined };
  const joined = (texts: string[]) => [...new Set(texts)].join('; ');
  return {
    says: { Cilium: joined(gaps.map(({ why }) => why)) },
    fix: joinedCures(gaps.map(({ fix }) => fix)),
  };
}

const cureOf: Readonly<Record<UnannouncedReason, ((node: string) => Cure) | undefined>> = {
  NoPeerSelectsNode: (node) =>
    cure(
      'LabelForPeer',
      `label ${node} for a BGPPeer, or change the nodeSelector of one: kubectl get bgppeers -o yaml`,
    ),
  PeerRefused: () =>
    cure(
      'CorrectPeer',
      'correct the BGPPeer (or its entry in the ConfigMap): kubectl get bgppeers -o yaml',
    ),
  SessionNotEstablished: (node) =>
    cure(
      'SeeSessions',
      `see why the session is down, on the router too: cadastre bgp peers --node ${node}`,
    ),
  FamilyNotNegotiated: () =>
    cure(
      'ActivateFamily',
      'activate the address family for the node on the router, and in the families of the BGPPeer',
    ),
  NoNextHop: (node) =>
    cure(
      'GiveNodeAddress',
      `give ${node} an address of that family (--node-ip of kubelet): kubectl get node ${node} -o yaml`,
    ),
  AnnouncementRefused: () => cure('CorrectAnnouncement', 'correct what the agent names above'),
  KernelRoutePending: (node) =>
    cure('SeeKernel', `on ${node}: see the kernel's answer, and what else writes routes`),
  NotOwner: (node) =>
    cure('MoveToAnotherBlock', `move ${node} to another block: cadastre migrate plan`),
  BlockFenced: (node) =>
    cure(
      'ConfirmBlock',
      `see whether the Node of ${node} is there, and its NodeBlock Active and not released: cadastre explain ${node}`,
    ),
  BlockUnconfirmed: (node) =>
    cure('ConfirmBlock', `let ${node} reach the API server, which confirms its blocks`),
  BlockMissing: () =>
    cure('RunOperator', 'see that the operator runs: it takes the block back into the register'),
  // Both pass by themselves.
  NodeDraining: undefined,
  AnnouncementPending: undefined,
};
