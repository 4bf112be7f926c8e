import { CadastreError } from '../base/errors.ts';
import { type HoldingSource, holdingSources } from './holding-source.ts';

/**
 * The modes, as one table: who gives out blocks, from which pools, which record
 * is the truth, and where blocks are written. Whoever needs to know something of
 * a mode asks its row; nothing else in the house compares a mode's name.
 *
 * A mode of other people (a cloud's) is one more row.
 */
export interface Mode {
  name: ModeName;
  description: string;
  /** Cadastre can run in it; the others are only compared, where Cilium runs in them. */
  isOurs: boolean;
  /** Whether Cadastre cuts blocks in it, or leaves that to somebody else. */
  allocates: boolean;
  /** Where the pools come from. */
  pools: 'objects' | 'flags' | 'none';
  /** Whether a node gets as many blocks as it asks for, not exactly one. */
  byDemand: boolean;
  /** Whether a node may be one that no pool selects. */
  selectsNodes: boolean;
  /** Which record is the truth of a node's blocks. */
  truth: TruthRecord;
  /** The same for a cluster in which no NodeBlock exists yet. */
  truthBefore: TruthRecord;
  /**
   * Records that blocks are adopted from, best first. Beside Cilium's cluster-pool that is what
   * agents use alone: kube-controller-manager may still write Node.spec, which nobody there reads.
   */
  adoptsFrom: readonly HoldingSource[];
  /** CiliumNode lists the blocks by pool, in place of podCIDRs, and asks for addresses by pool. */
  isPooledByCilium: boolean;
  /** Where blocks are written for others to read, unless the user says otherwise. */
  projections: readonly ProjectionName[];
  /** What cilium-config calls it. */
  ciliumNames: readonly string[];
}

export const modeNames = [
  'ip-pool',
  'cluster-pool',
  'cluster-pool-v2',
  'multi-pool',
  'kubernetes',
] as const;
export type ModeName = (typeof modeNames)[number];

/**
 *   register     NodeBlocks: wherever Cadastre gives out the blocks
 *   ciliumnode   CiliumNode.spec.ipam: Cilium's own cluster-pool and multi-pool
 *   node         Node.spec.podCIDRs, then the annotation: mode kubernetes
 */
export type TruthRecord = 'register' | 'ciliumnode' | 'node';

export const projectionNames = [
  'annotations',
  'node-spec',
  'ciliumnode',
  'ciliumnode-pools',
] as const;
export type ProjectionName = (typeof projectionNames)[number];

export const modes: Readonly<Record<ModeName, Mode>> = {
  'ip-pool': {
    name: 'ip-pool',
    description: 'blocks from IPPool objects, chosen by nodeSelector',
    isOurs: true,
    allocates: true,
    pools: 'objects',
    byDemand: false,
    selectsNodes: true,
    truth: 'register',
    truthBefore: 'register',
    adoptsFrom: holdingSources,
    isPooledByCilium: false,
    projections: ['annotations'],
    ciliumNames: [],
  },
  'cluster-pool': {
    name: 'cluster-pool',
    description: 'one block a node out of --cluster-pool-ipv4-cidr and -ipv6-cidr',
    isOurs: true,
    allocates: true,
    pools: 'flags',
    byDemand: false,
    selectsNodes: false,
    truth: 'register',
    truthBefore: 'ciliumnode',
    adoptsFrom: ['report', 'ciliumnode'],
    isPooledByCilium: false,
    projections: ['ciliumnode'],
    ciliumNames: ['cluster-pool'],
  },
  'cluster-pool-v2': {
    name: 'cluster-pool-v2',
    description: 'the same, with more blocks as a node fills those it has',
    isOurs: true,
    allocates: true,
    pools: 'flags',
    byDemand: true,
    selectsNodes: false,
    truth: 'register',
    truthBefore: 'ciliumnode',
    adoptsFrom: ['report', 'ciliumnode'],
    isPooledByCilium: false,
    projections: ['ciliumnode'],
    ciliumNames: ['cluster-pool-v2', 'cluster-pool-v2beta'],
  },
  'multi-pool': {
    name: 'multi-pool',
    description: "blocks of the IPPools that Cilium's agent asks for by name, in CiliumNode",
    isOurs: true,
    allocates: true,
    pools: 'objects',
    byDemand: true,
    selectsNodes: false,
    truth: 'register',
    truthBefore: 'ciliumnode',
    adoptsFrom: ['report', 'pools'],
    isPooledByCilium: true,
    projections: ['ciliumnode-pools'],
    ciliumNames: ['multi-pool'],
  },
  kubernetes: {
    name: 'kubernetes',
    description: 'kube-controller-manager sets Node.spec.podCIDRs; nothing is allocated here',
    isOurs: true,
    allocates: false,
    pools: 'none',
    byDemand: false,
    selectsNodes: false,
    truth: 'node',
    truthBefore: 'node',
    adoptsFrom: ['spec', 'annotation', 'old-annotation'],
    isPooledByCilium: false,
    projections: [],
    ciliumNames: ['kubernetes'],
  },
};

/** Records that are only compared in a mode that allocates, and kept from other nodes. */
export function comparedIn({ allocates, adoptsFrom }: Mode): readonly HoldingSource[] {
  return allocates ? holdingSources.filter((source) => !adoptsFrom.includes(source)) : [];
}

/** What an operator, an agent or a dry run does by default. */
export const defaultMode = modes['ip-pool'];

/** Those that an operator or an agent can run in. */
export const ourModes: readonly Mode[] = Object.values(modes).filter(({ isOurs }) => isOurs);

export function findMode(name: string | undefined): Mode | undefined {
  return name !== undefined && Object.hasOwn(modes, name) ? modes[name as ModeName] : undefined;
}

/** The mode that Cilium runs in, by the word of cilium-config. */
export function modeOfCilium(ipam: string): Mode | undefined {
  return Object.values(modes).find(({ ciliumNames }) => ciliumNames.includes(ipam));
}

/** The mode that a flag names; one that nobody can run in is a clear error. */
export function modeOfFlag(name: string): Mode {
  const mode = findMode(name);
  if (mode?.isOurs) return mode;
  throw new CadastreError('BAD_FLAG', `--ipam=${name} is not a mode Cadastre knows`, {
    remedy: `Use one of: ${ourModes.map((one) => one.name).join(', ')}.`,
  });
}
