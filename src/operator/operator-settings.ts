import { defaultTimings, type LeaseTimings } from '../kube/lease-timings.ts';
import type { StatedSettings } from '../model/cluster-state.ts';
import type { HoldingSource } from '../model/holding-source.ts';
import type { Pool } from '../model/ip-pool.ts';
import { comparedIn, type Mode, type ProjectionName } from '../model/modes.ts';
import type { NamedNetwork } from '../model/network.ts';
import { type Rules, rulesOf } from '../plan/blocks/decide-node.ts';
import type { ProjectionSwitches } from '../plan/blocks/projection.ts';
import type { ReportBelief } from './attribution-watch.ts';

/** Who registers the resource definitions, and upgrades them: the operator, or whoever installs it. */
export const crdManagements = ['manage', 'await'] as const;
export type CrdManagement = (typeof crdManagements)[number];

/** What an operator is started with. Nothing of it changes while it runs. */
export interface OperatorSettings {
  readonly mode: Mode;
  /** Of the program; empty where nobody says. */
  readonly version: string;
  readonly rules: Rules;
  /** Records that held blocks are adopted from, the most trusted first. */
  readonly sources: readonly HoldingSource[];
  /** Records that are compared, and not adopted from. */
  readonly compared: readonly HoldingSource[];
  readonly clusterPool: Pool | undefined;
  readonly serviceNetworks: readonly NamedNetwork[];
  readonly switches: Readonly<ProjectionSwitches>;
  readonly lease: OperatorLease;
  /** Where `address-pools` of MetalLB's and Cilium's form are, if anywhere. */
  readonly configMap: { readonly namespace: string; readonly name: string } | undefined;
  readonly crds: CrdManagement;
  /** Which reports may release a block. */
  readonly believeReports: ReportBelief;
  /** Writes under way at once. */
  readonly concurrency: number;
  /** How long agents are waited for after the API server's store went back in time. */
  readonly settleAfterRestoreMs: number;
  readonly intervals: OperatorIntervals;
}

interface OperatorLease {
  readonly namespace: string;
  readonly name: string;
  /** Unique per process. */
  readonly identity: string;
  readonly timings: LeaseTimings;
}

interface OperatorIntervals {
  /** Between two passes of the continuous comparison; 0 makes none. */
  readonly driftMs: number;
  /** Between two looks at Service networks and the settings of other components. */
  readonly surroundingsMs: number;
  /** The least time between two lists of all pods. */
  readonly podsMs: number;
  /** Between two looks for the CiliumNode resource while the cluster has none. */
  readonly ciliumNodesMs: number;
  /** Between two looks at the admission policy that binds agents to their nodes. */
  readonly attributionMs: number;
  /** Between two looks whether the custom resources are still registered. */
  readonly definitionsMs: number;
  readonly history: HistoryPace;
}

export interface HistoryPace {
  /** So long after the first change a volume is written, with all that came meanwhile. */
  readonly settleMs: number;
  /** However busy the operator is. */
  readonly latestMs: number;
  /** Between two volumes. */
  readonly everyMs: number;
}

/** What holds wherever nobody says otherwise: on the command line, in `cadastre up`, in tests. */
export const operatorDefaults = {
  lease: { namespace: 'kube-system', name: 'cadastre-operator', timings: defaultTimings },
  crds: 'manage',
  believeReports: 'attributed',
  concurrency: 64,
  settleAfterRestoreMs: 30_000,
  intervals: {
    driftMs: 30_000,
    surroundingsMs: 60_000,
    podsMs: 300_000,
    ciliumNodesMs: 5_000,
    attributionMs: 10_000,
    definitionsMs: 2_000,
    history: { settleMs: 3_000, latestMs: 120_000, everyMs: 100 },
  },
} as const;

export interface OperatorChoices {
  version?: string;
  rules?: Rules;
  sources?: readonly HoldingSource[];
  compared?: readonly HoldingSource[];
  clusterPool?: Pool | undefined;
  serviceNetworks?: readonly NamedNetwork[];
  /** Where blocks are copied to, if not where the mode does. */
  projections?: readonly ProjectionName[] | undefined;
  lease?: Partial<OperatorLease>;
  configMap?: OperatorSettings['configMap'];
  crds?: CrdManagement;
  believeReports?: ReportBelief;
  concurrency?: number;
  settleAfterRestoreMs?: number;
  intervals?: Partial<OperatorIntervals>;
}

/** The settings of a mode, with whatever was chosen otherwise. */
export function operatorSettings(
  mode: Mode,
  identity: string,
  chosen: OperatorChoices = {},
): OperatorSettings {
  const projections = chosen.projections ?? mode.projections;
  return {
    mode,
    version: chosen.version ?? '',
    rules: chosen.rules ?? rulesOf(mode, 'auto'),
    sources: chosen.sources ?? mode.adoptsFrom,
    compared: chosen.compared ?? (chosen.sources === undefined ? comparedIn(mode) : []),
    clusterPool: chosen.clusterPool,
    serviceNetworks: chosen.serviceNetworks ?? [],
    switches: {
      annotations: projections.includes('annotations'),
      nodeSpec: projections.includes('node-spec'),
      ciliumNode: projections.includes('ciliumnode'),
      ciliumPools: projections.includes('ciliumnode-pools'),
    },
    lease: { ...operatorDefaults.lease, identity, ...chosen.lease },
    configMap: chosen.configMap,
    crds: chosen.crds ?? operatorDefaults.crds,
    believeReports: chosen.believeReports ?? operatorDefaults.believeReports,
    concurrency: chosen.concurrency ?? operatorDefaults.concurrency,
    settleAfterRestoreMs: chosen.settleAfterRestoreMs ?? operatorDefaults.settleAfterRestoreMs,
    intervals: { ...operatorDefaults.intervals, ...chosen.intervals },
  };
}

/** What these settings say of the cluster, beside its objects. */
export function statedByOperator(settings: OperatorSettings): StatedSettings {
  const { mode, clusterPool, serviceNetworks, configMap } = settings;
  return { mode: mode.name, clusterPool, serviceNetworks, bgpConfigMap: configMap };
}
