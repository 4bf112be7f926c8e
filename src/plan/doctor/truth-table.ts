/**
 * One row a node, one column a source: what each of them says that the node has,
 * against the record that is the truth in this mode. A cell is red where a
 * finding says so and nowhere else: the table and the findings are one judgement.
 */

import { addToGroup } from '../../base/add-to-group.ts';
import type { TruthRecord } from '../../model/modes.ts';
import { families } from '../../net/family.ts';
import { Expectations } from './expectations.ts';
import type { DoctorFinding, DoctorReason } from './finding.ts';
import { compareRecords, truthName } from './judge-records.ts';
import { isService } from './judge-strays.ts';
import type { RecordName } from './records.ts';
import { announcedName, type RouteView, usedPaths } from './route-view.ts';
import type { Survey, SurveyedNode } from './survey.ts';
import type { CellState, TruthCell, TruthColumn, TruthRow, TruthTable } from './truth-row.ts';

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
  const rows = [...survey.nodes].map(([name, surveyed]) =>
    rowOf(survey, surveyed, about.get(name) ?? [], expectations, records, routers),
  );
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
  { truth, nodes, unseenRouters, unaskedRouters }: Survey,
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
    ...unaskedRouters.map((name) => ({
      id: `router ${name}`,
      label: name,
      title: `${name}: nobody asked what is in the table (--witness, --rib)`,
      isSeen: false,
      isUnasked: true,
    })),
  ];
}

const isWitnessed = (record: RecordName) => record === 'agent' || record === 'kernel';

/** What makes a row red, and in which cells. */
const conflicts: ReadonlySet<DoctorReason> = new Set([
  'DuplicateBlock',
  'OverlappingBlocks',
  'OverlapsNetwork',
  'RestoredFromBackup',
]);
const lacking: ReadonlySet<DoctorReason> = new Set([
  'Blackhole',
  'NotHeld',
  'NotAnnounced',
  'WrongNextHop',
  'Detour',
]);
const foreign: ReadonlySet<DoctorReason> = new Set(['Detour', 'Orphan', 'UnknownPrefix']);
const ofAgents: ReadonlySet<DoctorReason> = new Set([
  'PodsOutsideBlocks',
  'AgentOnOldBlock',
  'DuplicateAddress',
  'Hijacked',
]);
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
      addToGroup(found, name, finding);
    }
  }
  return found;
}

/** One row: each cell is judged by the findings about the node, and by nothing else. */
function rowOf(
  survey: Survey,
  surveyed: SurveyedNode,
  findings: readonly DoctorFinding[],
  expectations: Expectations,
  records: readonly RecordName[],
  routers: readonly RouteView[],
): TruthRow {
  const { node, blocks, announces, report } = surveyed;
  const { name } = node;
  const differing = new Set(families.flatMap((one) => compareRecords(surveyed, one).differing));
  const has = (reasons: ReadonlySet<DoctorReason>) =>
    findings.some(({ reason }) => reasons.has(reason));

  const cell = (column: string, cidrs: string[], state: CellState): TruthCell => {
    if (state !== 'differs') return { column, cidrs, state };
    const others = cidrs.flatMap((cidr) => {
      const owner = survey.owners.get(cidr)?.[0]?.node;
      return owner === undefined || owner === name ? [] : [{ cidr, owner }];
    });
    return others.length > 0 ? { column, cidrs, state, others } : { column, cidrs, state };
  };

  const ofRoutes = (column: string, cidrs: string[], lacks: boolean): TruthCell => {
    const isForeign = findings.some(
      (one) => foreign.has(one.reason) && one.node === name && cidrs.includes(one.prefix ?? ''),
    );
    const state = isForeign ? 'differs' : lacks ? 'missing' : undefined;
    return cell(column, cidrs, state ?? (cidrs.length > 0 ? 'agrees' : 'empty'));
  };

  const truth = (): TruthCell => {
    const cidrs = blocks.map(({ key }) => key);
    const state = has(conflicts) ? 'conflict' : cidrs.length === 0 ? 'empty' : 'truth';
    return cell(truthColumn, cidrs, state);
  };

  const record = (column: RecordName): TruthCell => {
    const said = surveyed.records.get(column);
    const cidrs = (said ?? []).map(String);
    if (differing.has(column) || (column === 'agent' && has(ofAgents))) {
      return cell(column, cidrs, 'differs');
    }
    const isUnseen = said === undefined && isWitnessed(column) && report?.status === undefined;
    const isCompared = cidrs.length > 0 && blocks.length > 0;
    return cell(column, cidrs, isUnseen ? 'unseen' : isCompared ? 'agrees' : 'empty');
  };

  const announced = (): TruthCell => {
    if (announces === undefined) return cell(announcedName, [], 'unseen');
    const cidrs = new Set<string>();
    for (const { prefix } of announces) {
      if (!isService(survey, prefix, name)) cidrs.add(prefix.toString());
    }
    const lacks = findings.some(
      ({ reason, owner, prefix }) =>
        (reason === 'NotAnnounced' || reason === 'Blackhole') &&
        owner === name &&
        !cidrs.has(prefix ?? ''),
    );
    return ofRoutes(announcedName, [...cidrs], lacks);
  };

  /** A block of the node that this router should lead to it, and does not, by a finding. */
  const isLacking = (view: RouteView) =>
    blocks.some((block) => {
      const found = findings.filter(
        ({ reason, owner, prefix }) =>
          lacking.has(reason) && owner === name && prefix === block.key,
      );
      if (found.length === 0 || !view.families.has(block.prefix.family)) return false;
      const paths = usedPaths(view, block.prefix, block.key);
      if (paths.some(({ hop }) => hop.kind === 'node' && hop.node === name)) return false;
      // No router has a way there: then it is each of them that lacks it.
      const isNowhere = found.some(({ reason }) => reason === 'Blackhole');
      return isNowhere || paths.length > 0 || expectations.expects(view, block);
    });

  const router = (view: RouteView): TruthCell => {
    const routed = view.via.get(name) ?? [];
    const cidrs = routed.filter(({ prefix }) => !isService(survey, prefix, name));
    return ofRoutes(
      `router ${view.name}`,
      cidrs.map(({ key }) => key),
      isLacking(view),
    );
  };

  return {
    node: name,
    cells: [
      truth(),
      ...records.map(record),
      announced(),
      ...routers.map(router),
      ...[...survey.unseenRouters, ...survey.unaskedRouters].map((one) =>
        cell(`router ${one}`, [], 'unseen'),
      ),
    ],
    reasons: [...new Set(findings.map(({ reason }) => reason))],
  };
}
