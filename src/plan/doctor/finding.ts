import type { Cure } from '../../model/cures.ts';
import type { Reason } from '../../model/reasons.ts';

/**
 * What the doctor finds. The words are the shared vocabulary of
 * model/reasons.ts; the doctor uses this part of it, in the order in which a
 * person should read it: who is cut off now first, what may hurt later last.
 */
export const doctorReasons = [
  'Blackhole',
  'WrongNextHop',
  'Hijacked',
  'DuplicateAddress',
  'DuplicateBlock',
  'OverlappingBlocks',
  'RestoredFromBackup',
  'AgentOnOldBlock',
  'PodsOutsideBlocks',
  'NotThisMachine',
  'DuplicateAgent',
  'BlockMissing',
  'AddressOwnersUnknown',
  'NotHeld',
  'NotAnnounced',
  'Detour',
  'Orphan',
  'Stale',
  'SecondAllocator',
  'SecondSpeaker',
  'ClaimRefused',
  'SourcesDisagree',
  'OverlapsNetwork',
  'PeerRefused',
  'RouteRefused',
  'NoAddressOfFamily',
  'MasqueradeRefused',
  'MalformedConfig',
  'OutsidePools',
  'PoolsDiffer',
  'NoPoolForGroup',
  'PoolNearlyFull',
  'ReleasedByTime',
  'ReportNotAttributed',
  'AwaitingWitness',
  'StrandedBlock',
  'LeakedAddress',
  'UnknownPrefix',
] as const satisfies readonly Reason[];

export type DoctorReason = (typeof doctorReasons)[number];

/** critical: somebody is cut off. warning: somebody will be, by one event. info: worth knowing. */
export type Severity = 'critical' | 'warning' | 'info';

export const severities: readonly Severity[] = ['critical', 'warning', 'info'];

export interface DoctorFinding {
  reason: DoctorReason;
  severity: Severity;
  /** Whom it is about: who announces a prefix wrongly, or whose block is not reachable. */
  node: string | null;
  prefix: string | null;
  /** Whose the prefix is, by the record that is the truth; null: nobody's. */
  owner: string | null;
  /** The records side by side, by source; keys are in a fixed order. */
  says: Record<string, string>;
  hurts: Hurts;
  /** The command or change that cures it. */
  fix: string;
}

/** What a finding says beside its reason; whatever is left out is null, or nobody. */
type FindingDetails = Partial<Pick<DoctorFinding, 'node' | 'prefix' | 'owner' | 'hurts'>> &
  Pick<DoctorFinding, 'says'> & { fix: Cure };

export function finding(
  reason: DoctorReason,
  severity: Severity,
  { node = null, prefix = null, owner = null, says, hurts = hurtsNow(), fix }: FindingDetails,
): DoctorFinding {
  return { reason, severity, node, prefix, owner, says, hurts, fix };
}

/** Those nodes are hurt now. */
export const hurtsNow = (...now: string[]): Hurts => ({ now, if: [] });

/** Nobody is hurt now; those nodes would be by the event. */
export const hurtsIf = (event: string, nodes: string[], ...prefixes: string[]): Hurts => ({
  now: [],
  if: [{ event, nodes, prefixes }],
});

export interface Hurts {
  /** Nodes whose pods are hurt now. */
  now: string[];
  /** Who would be, by what. */
  if: HurtIf[];
}

export interface HurtIf {
  /** As the what-if takes it: `drain node1`. */
  event: string;
  nodes: string[];
  prefixes: string[];
}

/** Where the evidence came from; what was not to be seen is listed as well. */
export interface Source {
  /** `nodes`, `ciliumnodes`, `cilium-config`, `nodereports`, a router's name, … */
  name: string;
  kind: SourceKind;
  state: 'seen' | 'partly' | 'unseen';
  /** How old what it says is; null when nobody knows. */
  ageSeconds: number | null;
  /** What it holds, in words: `4 Nodes`, `FRR, 4 routes (ipv4)`. */
  holds: string;
  /** What that means for the answer: what could not be compared, or how it was read. */
  note?: string;
}

export type SourceKind = 'cluster' | 'objects' | 'report' | 'rib' | 'bgp' | 'bmp' | 'kernel';

export interface DoctorReport {
  apiVersion: string;
  kind: 'DoctorReport';
  sources: Source[];
  checked: { nodes: number; blocks: number; routes: number };
  findings: DoctorFinding[];
  /** What findings have in common, most pods hurt first. */
  causes: ReportedCause[];
}

export interface ReportedCause {
  title: string;
  reason: DoctorReason;
  severity: Severity;
  podsHurt: number;
  nodesHurt: string[];
  podsAtRisk: number;
  nodesAtRisk: string[];
  /** Places in `findings`, from 0. */
  findings: number[];
}
