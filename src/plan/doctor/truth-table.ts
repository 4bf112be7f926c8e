/**
 * One row a node, one column a source: what each of them says that the node has,
 * against the record that is the truth in this mode. A cell is red where a
 * finding says so and nowhere else: the table and the findings are one judgement.
 */

import type { TruthRecord } from '../../model/modes.ts';
import { families } from '../../net/family.ts';
import { Expectations } from './expectations.ts';
import type { DoctorFinding, DoctorReason } from './finding.ts';
import { compareRecords, truthName } from './judge-records.ts';
import { isService } from './judge-strays.ts';
import type { RecordName } from './records.ts';
import { announcedName, type RouteView, usedPaths } from './route-view.ts';
import type { Survey, SurveyedNode } from './survey.ts';
import type { CellState, TruthCell, TruthColumn, TruthTable } from './truth-row.ts';

/** The first column, whatever record it is. */
export const truthColumn = 'truth';

const truthLabels: Readonly<Record<TruthRecord, { label: string; title: string }>> = {
  register: { label: 'Register', title: 'NodeBlock objects: the truth in this mode' },
  ciliumnode: { label: 'CiliumNode', title: 'CiliumNode.spec.ipam: the truth in this mode' },
  node: {
    label: 'Node.spec',
    title: 'Node.spec.podCIDRs, or the annotation where it is empty: the truth in this mode',
  },
};

const recordTitles: Readonly<Record<RecordName, string>> = {
  NodeBlock: 'NodeBlock objects',
  CiliumNode: 'CiliumNode.spec.ipam',
  'Node.spec': 'Node.spec.podCIDRs',
  annotation: "the Node's annotation",
  agent: "what the node's agent gives pods addresses from",
  kernel: "blocks that the node's kernel has a route for",
};

export function truthTable(survey: Survey, findings: readonly DoctorFinding[]): TruthTable {
  const routers = survey.views.filter(({ isRouter }) => isRouter);
  const records = recordColumns(survey);
  const about = findingsByNode(findings);
  const expectations = new Expectations(survey);
  const rows = [...survey.nodes].map(([name, surveyed]) => {
    const row = new RowMaker(survey, surveyed, about.get(name) ?? [], expectations);
    return {
      node: name,
      cells: [
        row.truth(),
        ...records.map((record) => row.record(record)),
        row.announced(),
        ...routers.map((view) => row.router(view)),
        ...survey.unseenRouters.map((name) => row.unseenRouter(name)),
      ],
      reasons: row.reasons(),
    };
  });
  return { columns: columnsOf(survey, records, routers), rows };
}

/** Records beside the truth. One that no node has is only shown where it is usual. */
function recordColumns({ truth, nodes }: Survey): RecordName[] {
  const usual: ReadonlySet<RecordName> = new Set(['Node.spec', 'annotation', 'agent', 'kernel']);
  const names = Object.keys(recordTitles) as RecordName[];
  return names.filter((record) => {
    if (record === truthName[truth.record]) return false;
    return usual.has(record) || [...nodes.values()].some(({ records }) => records.has(record));
  });
}

function columnsOf(
  { truth, nodes, unseenRouters }: Survey,
  records: readonly RecordName[],
  routers: readonly RouteView[],
): TruthColumn[] {
  const all = [...nodes.values()];
  const hasReports = all.some(({ report }) => report?.status !== undefined);
  const label = (record: RecordName) => record[0]!.toUpperCase() + record.slice(1);
  return [
    { id: truthColumn, ...truthLabels[truth.record], isSeen: true },
    ...records.map((record) => ({
      id: record,
      label: label(record),
      title: recordTitles[record],
      isSeen: !isWitnessed(record) || hasReports || all.some((one) => one.records.has(record)),
    })),
    {
      id: announcedName,
      label: 'Announced',
      title: 'what the node advertises to its routers',
      isSeen: all.some(({ announces }) => announces !== undefined),
    },
    ...[...routers.map(({ name }) => name), ...unseenRouters].map((name) => ({
      id: `router ${name}`,
      label: name,
      title: `what is in the table of ${name} with this node as next hop`,
      isSeen: !unseenRouters.includes(name),
    })),
  ];
}

const isWitnessed = (record: RecordName) => record === 'agent' || record === 'kernel';

/** What makes a row red, and in which cells. */
const conflicts: ReadonlySet<DoctorReason> = new Set([
  'DuplicateBlock',
  'OverlappingBlocks',
  'OverlapsNetwork',
]);
const lacking: ReadonlySet<DoctorReason> = new Set([
  'Blackhole',
  'NotHeld',
  'NotAnnounced',
  'WrongNextHop',
  'Detour',
]);
const foreign: ReadonlySet<DoctorReason> = new Set(['Detour', 'Orphan', 'UnknownPrefix']);
const ofAgents: ReadonlySet<DoctorReason> = new Set(['PodsOutsideBlocks']);
const shown: ReadonlySet<DoctorReason> = new Set<DoctorReason>([
  'SourcesDisagree',
  ...conflicts,
  ...lacking,
  ...foreign,
  ...ofAgents,
]);

/** The nodes that a finding of the table is about. */
export function nodesOf({ reason, node, owner, hurts }: DoctorFinding): string[] {
  if (!shown.has(reason)) return [];
  const names = [node, owner, ...(conflicts.has(reason) ? hurts.now : [])];
  return [...new Set(names.filter((name) => name !== null))];
}

function findingsByNode(findings: readonly DoctorFinding[]): Map<string, DoctorFinding[]> {
  const found = new Map<string, DoctorFinding[]>();
  for (const finding of findings) {
    for (const name of nodesOf(finding)) {
      const known = found.get(name);
      if (known === undefined) found.set(name, [finding]);
      else known.push(finding);
    }
  }
  return found;
}

class RowMaker {
  readonly #survey: Survey;
  readonly #node: SurveyedNode;
  readonly #name: string;
  readonly #findings: readonly DoctorFinding[];
  readonly #expectations: Expectations;
  readonly #differing: ReadonlySet<RecordName>;

  constructor(
    survey: Survey,
    node: SurveyedNode,
    findings: readonly DoctorFinding[],
    expectations: Expectations,
  ) {
    this.#survey = survey;
    this.#node = node;
    this.#name = node.node.name;
    this.#findings = findings;
    this.#expectations = expectations;
    this.#differing = new Set(families.flatMap((family) => compareRecords(node, family).differing));
  }

  reasons(): DoctorReason[] {
    return [...new Set(this.#findings.map(({ reason }) => reason))];
  }

  truth(): TruthCell {
    const cidrs = this.#node.blocks.map(({ key }) => key);
    const isDisputed = this.#findings.some(({ reason }) => conflicts.has(reason));
    const state = isDisputed ? 'conflict' : cidrs.length === 0 ? 'empty' : 'truth';
    return this.#cell(truthColumn, cidrs, state);
  }

  record(record: RecordName): TruthCell {
    const said = this.#node.records.get(record);
    const cidrs = (said ?? []).map(String);
    const isOfAgent =
      record === 'agent' && this.#findings.some(({ reason }) => ofAgents.has(reason));
    if (isOfAgent || this.#differing.has(record)) return this.#cell(record, cidrs, 'differs');
    if (said === undefined && isWitnessed(record) && this.#node.report?.status === undefined) {
      return this.#cell(record, cidrs, 'unseen');
    }
    const isCompared = cidrs.length > 0 && this.#node.blocks.length > 0;
    return this.#cell(record, cidrs, isCompared ? 'agrees' : 'empty');
  }

  announced(): TruthCell {
    const { announces } = this.#node;
    if (announces === undefined) return this.#cell(announcedName, [], 'unseen');
    const cidrs = new Set<string>();
    for (const { prefix } of announces) {
      if (!isService(this.#survey, prefix, this.#name)) cidrs.add(prefix.toString());
    }
    const lacks = this.#findings.some(
      ({ reason, owner, prefix }) =>
        (reason === 'NotAnnounced' || reason === 'Blackhole') &&
        owner === this.#name &&
        !cidrs.has(prefix ?? ''),
    );
    return this.#cell(announcedName, [...cidrs], this.#stateOf([...cidrs], lacks));
  }

  router(view: RouteView): TruthCell {
    const cidrs = (view.via.get(this.#name) ?? [])
      .filter(({ prefix }) => !isService(this.#survey, prefix, this.#name))
      .map(({ key }) => key);
    return this.#cell(`router ${view.name}`, cidrs, this.#stateOf(cidrs, this.#isLacking(view)));
  }

  unseenRouter(name: string): TruthCell {
    return this.#cell(`router ${name}`, [], 'unseen');
  }

  /** A block of the node that this router should lead to it, and does not, by a finding. */
  #isLacking(view: RouteView): boolean {
    return this.#node.blocks.some((block) => {
      const found = this.#findings.filter(
        ({ reason, owner, prefix }) =>
          lacking.has(reason) && owner === this.#name && prefix === block.key,
      );
      if (found.length === 0 || !view.families.has(block.prefix.family)) return false;
      const paths = usedPaths(view, block.prefix, block.key);
      if (paths.some(({ hop }) => hop.kind === 'node' && hop.node === this.#name)) return false;
      // No router has a way there: then it is each of them that lacks it.
      const isNowhere = found.some(({ reason }) => reason === 'Blackhole');
      return isNowhere || paths.length > 0 || this.#expectations.expects(view, block);
    });
  }

  #stateOf(cidrs: readonly string[], lacks: boolean): CellState {
    const isForeign = this.#findings.some(
      ({ reason, node, prefix }) =>
        foreign.has(reason) && node === this.#name && cidrs.includes(prefix ?? ''),
    );
    if (isForeign) return 'differs';
    if (lacks) return 'missing';
    return cidrs.length > 0 ? 'agrees' : 'empty';
  }

  #cell(column: string, cidrs: string[], state: CellState): TruthCell {
    if (state !== 'differs') return { column, cidrs, state };
    const others = cidrs.flatMap((cidr) => {
      const owner = this.#survey.owners.get(cidr)?.[0]?.node;
      return owner === undefined || owner === this.#name ? [] : [{ cidr, owner }];
    });
    return others.length > 0 ? { column, cidrs, state, others } : { column, cidrs, state };
  }
}
