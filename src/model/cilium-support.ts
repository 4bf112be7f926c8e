import type { CiliumSettings, CiliumVersion } from './cilium-config.ts';
import { type Cure, cure } from './cures.ts';

/**
 * Who reads what, by mode and version of Cilium: from which field an agent takes the
 * blocks of its node, when it does, what its BGP announces from, and which settings
 * leave the allocation to another. Taken from Cilium's source of the versions named in
 * docs/cilium.md, whose table is this one. Plan, doctor and migration ask here, so
 * that no advice depends on who prints it.
 */
export interface CiliumSupport {
  /** What cilium-config calls the mode. */
  mode: CiliumMode;
  /** First and last minor version of the row, inclusive; open where absent. */
  from?: CiliumRelease;
  to?: CiliumRelease;
  /** Fields that the agent takes its blocks from; the first that is filled in counts. */
  reads: readonly AgentRecord[];
  /** `start`: read once, before the agent is ready. `running`: a change is taken at any time. */
  when: 'start' | 'running';
  /** How many blocks of a family the agent allocates from, of those it is given. */
  blocks: 'first' | 'all' | 'none';
  /** Settings that the agent needs so that it reads the fields above. */
  needs: readonly string[];
  /** The agent makes its CiliumNode itself, before it has a block. */
  makesCiliumNode: boolean;
  /** What BGP announces a node's blocks from, by implementation; absent: it announces none. */
  announces: Readonly<Partial<Record<'metallb' | 'control-plane', AnnouncedField>>>;
  /** Where Cadastre writes blocks so that this agent takes them; absent: it takes none of ours. */
  project?: 'ciliumnode' | 'node-spec';
}

export type CiliumMode =
  | 'kubernetes'
  | 'cluster-pool'
  | 'cluster-pool-v2beta'
  | 'multi-pool'
  | 'delegated-plugin';

export type CiliumRelease = Pick<CiliumVersion, 'major' | 'minor'>;

export type AnnouncedField = 'Node.spec.podCIDRs' | 'CiliumNode.spec.ipam.podCIDRs' | 'pools';

export type AgentRecord =
  | 'Node.spec.podCIDRs'
  | 'annotations'
  | 'CiliumNode.spec.ipam.podCIDRs'
  | 'CiliumNode.spec.ipam.pools.allocated';

const at = (minor: number): CiliumRelease => ({ major: 1, minor });

const annotateFlag = 'annotate-k8s-node: "true"';

/** Oldest first within a mode: the last row serves versions that are newer than we know. */
export const ciliumSupport: readonly CiliumSupport[] = [
  {
    mode: 'kubernetes',
    to: at(11),
    reads: ['Node.spec.podCIDRs', 'annotations'],
    when: 'start',
    blocks: 'first',
    needs: [],
    makesCiliumNode: true,
    announces: { metallb: 'Node.spec.podCIDRs' },
    project: 'node-spec',
  },
  {
    mode: 'kubernetes',
    from: at(12),
    to: at(14),
    reads: ['Node.spec.podCIDRs', 'annotations'],
    when: 'start',
    blocks: 'first',
    needs: [`${annotateFlag} for annotations`],
    makesCiliumNode: true,
    announces: { metallb: 'Node.spec.podCIDRs', 'control-plane': 'Node.spec.podCIDRs' },
    project: 'node-spec',
  },
  {
    mode: 'kubernetes',
    from: at(15),
    reads: ['Node.spec.podCIDRs', 'annotations'],
    when: 'start',
    blocks: 'first',
    needs: [`${annotateFlag} for annotations`],
    makesCiliumNode: true,
    // The agent copies what it read at start into CiliumNode, and BGP announces the copy.
    announces: {
      metallb: 'Node.spec.podCIDRs',
      'control-plane': 'CiliumNode.spec.ipam.podCIDRs',
    },
    project: 'node-spec',
  },
  {
    mode: 'cluster-pool',
    to: at(11),
    reads: ['CiliumNode.spec.ipam.podCIDRs'],
    when: 'start',
    blocks: 'first',
    needs: [],
    makesCiliumNode: true,
    // cilium/cilium#18852: whatever the mode.
    announces: { metallb: 'Node.spec.podCIDRs' },
    project: 'ciliumnode',
  },
  {
    mode: 'cluster-pool',
    from: at(12),
    reads: ['CiliumNode.spec.ipam.podCIDRs'],
    when: 'start',
    blocks: 'first',
    needs: [],
    makesCiliumNode: true,
    announces: {
      metallb: 'CiliumNode.spec.ipam.podCIDRs',
      'control-plane': 'CiliumNode.spec.ipam.podCIDRs',
    },
    project: 'ciliumnode',
  },
  {
    mode: 'cluster-pool-v2beta',
    from: at(12),
    to: at(13),
    reads: ['CiliumNode.spec.ipam.podCIDRs'],
    when: 'running',
    blocks: 'all',
    needs: [],
    makesCiliumNode: true,
    announces: { 'control-plane': 'CiliumNode.spec.ipam.podCIDRs' },
    project: 'ciliumnode',
  },
  {
    mode: 'cluster-pool-v2beta',
    from: at(14),
    to: at(14),
    reads: ['CiliumNode.spec.ipam.podCIDRs'],
    when: 'running',
    blocks: 'all',
    needs: [],
    makesCiliumNode: true,
    announces: {},
    project: 'ciliumnode',
  },
  {
    mode: 'multi-pool',
    from: at(14),
    to: at(14),
    reads: ['CiliumNode.spec.ipam.pools.allocated'],
    when: 'running',
    blocks: 'all',
    needs: [],
    makesCiliumNode: true,
    announces: {},
  },
  {
    mode: 'multi-pool',
    from: at(15),
    reads: ['CiliumNode.spec.ipam.pools.allocated'],
    when: 'running',
    blocks: 'all',
    needs: [],
    makesCiliumNode: true,
    announces: { 'control-plane': 'pools' },
  },
  {
    mode: 'delegated-plugin',
    from: at(12),
    reads: [],
    when: 'running',
    blocks: 'none',
    needs: ['cilium-cni with ipam.type of the plugin'],
    makesCiliumNode: true,
    announces: {},
  },
];

/** By number: 1.9 is older than 1.12. */
export function compareReleases(a: CiliumRelease, b: CiliumRelease): number {
  return a.major - b.major || a.minor - b.minor;
}

export function isAtLeast(version: CiliumRelease, least: CiliumRelease): boolean {
  return compareReleases(version, least) >= 0;
}

export function releaseText({ major, minor }: CiliumRelease): string {
  return `${major}.${minor}`;
}

/**
 * The row of a mode in a version; the newest row of the mode where the version is not
 * known. Undefined: this version has no such mode, or we do not know the mode.
 */
export function supportOf(
  mode: string,
  version: CiliumRelease | undefined,
): CiliumSupport | undefined {
  const rows = ciliumSupport.filter((row) => row.mode === ciliumModeOf(mode));
  if (version === undefined) return rows.at(-1);
  return rows.find(
    ({ from, to }) =>
      (from === undefined || isAtLeast(version, from)) &&
      (to === undefined || isAtLeast(to, version)),
  );
}

/** Our word for a mode as Cilium's: `cluster-pool-v2` was never out of beta there. */
export function ciliumModeOf(mode: string): string {
  return mode === 'cluster-pool-v2' ? 'cluster-pool-v2beta' : mode;
}

/** Where agents take blocks from, for people: one sentence. */
export function whatTheAgentReads(mode: string, version: CiliumRelease | undefined): string {
  const row = supportOf(mode, version);
  const name = version === undefined ? 'Cilium' : `Cilium ${releaseText(version)}`;
  if (row === undefined) return `${name} has no mode ${ciliumModeOf(mode)}`;
  if (row.reads.length === 0) return `agents of ${name} take no block in mode ${row.mode}`;
  const fields = row.reads.join(', then ');
  return row.when === 'start'
    ? `agents of ${name} in mode ${row.mode} read ${fields} once, when they start`
    : `agents of ${name} in mode ${row.mode} read ${fields} while they run`;
}

/** Whether agents must be started again before they allocate from another block. */
export function needsRestart(mode: string, version: CiliumRelease | undefined): boolean {
  return supportOf(mode, version)?.when !== 'running';
}

/** What BGP of a cluster's Cilium announces blocks from; undefined: none, or not known. */
export function announcedFrom({ ipam, version, bgp }: CiliumSettings): AnnouncedField | undefined {
  return version === undefined || bgp === 'off'
    ? undefined
    : supportOf(ipam, version)?.announces[bgp];
}

/**
 * From here on BGP announces the record of the mode, not Node.spec (cilium/cilium#18852).
 * A newer version is no cure for whoever has it already.
 */
export const announcesOwnRecordFrom: CiliumRelease = at(12);

export function curedByUpgrade(version: CiliumRelease | undefined): boolean {
  return version !== undefined && !isAtLeast(version, announcesOwnRecordFrom);
}

/** Whether cilium-operator cuts the blocks that agents of this mode use. */
export function ciliumOperatorAllocates(mode: string): boolean {
  return supportOf(mode, undefined)?.reads[0]?.startsWith('CiliumNode.') === true;
}

/** The one setting of cilium-operator that leaves allocation to another and all its other duties on. */
export const operatorArgument = '--ipam=kubernetes';

export interface TakeOver {
  /** What to change, in order; each whole in itself. */
  steps: readonly string[];
  /** For `cadastre operator --project`. */
  project: 'ciliumnode' | 'node-spec' | 'annotations';
}

/**
 * How Cadastre takes over the blocks of a Cilium that stays: who else stops allocating, and where
 * blocks are written. Agents and cilium-config stay as they are; cilium-operator goes on running,
 * because it also removes taints, collects identities, gives Services addresses and
 * makes the CiliumBGPNodeConfig of every node that joins.
 */
export function howToTakeOver(
  mode: string,
  version: CiliumRelease | undefined,
): TakeOver | undefined {
  const row = supportOf(mode, version);
  if (row?.project === undefined) return undefined;
  if (row.project === 'node-spec') {
    const step = 'kube-controller-manager: set --allocate-node-cidrs=false';
    return { steps: [step], project: 'node-spec' };
  }
  return { steps: [operatorStep], project: 'ciliumnode' };
}

/** The same in each advice: exactly which flag, and where it goes in Cilium's chart. */
export const operatorStep: Cure = cure(
  'StopCiliumAllocator',
  `cilium-operator: add the argument ${operatorArgument} (Helm: operator.extraArgs={${operatorArgument}}); leave it running, and leave ipam in cilium-config and the agents as they are`,
);

/** One line of docs/cilium.md, in the order of its columns. */
export function supportCells(row: CiliumSupport): string[] {
  const { metallb, 'control-plane': controlPlane } = row.announces;
  const announced = [
    metallb === undefined ? '' : `MetalLB: ${metallb}`,
    controlPlane === undefined
      ? ''
      : `control plane: ${controlPlane === 'pools' ? 'CiliumPodIPPools that are selected' : controlPlane}`,
  ].filter(Boolean);
  return [
    `\`${row.mode}\``,
    versionsText(row),
    row.reads.join(', then ') || 'nothing',
    row.reads.length === 0 ? '–' : row.when === 'start' ? 'at start' : 'while it runs',
    row.blocks === 'first' ? 'the first of each family' : row.blocks === 'all' ? 'all' : 'none',
    row.reads.length === 0 ? '–' : row.when === 'start' ? 'no: restart the agent' : 'yes',
    row.needs.join('; ') || '–',
    announced.join('; ') || 'nothing',
    row.project === undefined ? '–' : `\`${row.project}\``,
  ];
}

export const supportColumns: readonly string[] = [
  'mode',
  'versions',
  'the agent reads',
  'when',
  'of the blocks it uses',
  'takes a change while it runs',
  'needs',
  'BGP announces',
  '`--project`',
];

function versionsText({ from, to }: CiliumSupport): string {
  if (from === undefined) return to === undefined ? 'all' : `up to ${releaseText(to)}`;
  if (to === undefined) return `${releaseText(from)} and newer`;
  return compareReleases(from, to) === 0
    ? releaseText(from)
    : `${releaseText(from)} to ${releaseText(to)}`;
}
