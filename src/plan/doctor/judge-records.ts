import { plural } from '../../base/count-text.ts';
import type { CiliumSettings } from '../../model/cilium-config.ts';
import { ciliumOperatorAllocates, operatorStep } from '../../model/cilium-support.ts';
import { type Cure, cure } from '../../model/cures.ts';
import { modeOfCilium, type TruthRecord } from '../../model/modes.ts';
import { type Family, families } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';
import { readPrefixes } from '../blocks/truth.ts';
import { type DoctorFinding, finding } from './finding.ts';
import { wrongRecord } from './fixes.ts';
import type { RecordName } from './records.ts';
import type { Survey, SurveyedNode } from './survey.ts';

export const truthName: Readonly<Record<TruthRecord, RecordName>> = {
  register: 'NodeBlock',
  ciliumnode: 'CiliumNode',
  node: 'Node.spec',
};

/**
 * The records of each node side by side. One that says nothing does not
 * disagree; nor does one that can hold a single block, where the node has more.
 */
export function judgeRecords(survey: Survey): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  const seconds = new Map<RecordName, { nodes: string[]; differ: number }>();
  for (const [name, surveyed] of survey.nodes) {
    for (const family of families) {
      const { ours, others, differing } = compareRecords(surveyed, family);
      for (const [record] of others) {
        const known = seconds.get(record) ?? { nodes: [], differ: 0 };
        seconds.set(record, known);
        if (known.nodes.at(-1) !== name) known.nodes.push(name);
        if (differing.includes(record)) known.differ++;
      }
      if (differing.length === 0) continue;
      found.push(disagreement(survey, surveyed, ours, others, differing));
    }
  }
  return [...secondAllocators(survey, seconds), ...found];
}

interface ComparedRecords {
  /** The node's blocks of the family, by the truth. */
  ours: readonly Prefix[];
  /** What each record says that says anything. */
  others: ReadonlyArray<readonly [RecordName, readonly Prefix[]]>;
  differing: readonly RecordName[];
}

/** The records of one node against its blocks; where it has none there is nothing to compare with. */
export function compareRecords({ blocks, records }: SurveyedNode, family: Family): ComparedRecords {
  const ours = blocks.map(({ prefix }) => prefix).filter((prefix) => prefix.family === family);
  if (ours.length === 0) return { ours, others: [], differing: [] };
  const others = [...records]
    .map(([record, all]) => [record, all.filter((one) => one.family === family)] as const)
    .filter(([, prefixes]) => prefixes.length > 0);
  const differing = others
    .filter(([record, theirs]) => !agrees(record, theirs, ours))
    .map(([record]) => record);
  return { ours, others, differing };
}

function agrees(record: RecordName, theirs: readonly Prefix[], ours: readonly Prefix[]): boolean {
  const isKnown = theirs.every((one) => ours.some((own) => own.equals(one)));
  if (!isKnown) return false;
  // Node.spec and the annotation have room for one block of a family.
  return record === 'Node.spec' || record === 'annotation' || theirs.length === ours.length;
}

function disagreement(
  survey: Survey,
  { node }: SurveyedNode,
  ours: readonly Prefix[],
  others: ReadonlyArray<readonly [RecordName, readonly Prefix[]]>,
  differing: readonly RecordName[],
): DoctorFinding {
  const { announcedBy, truth } = survey;
  const says: Record<string, string> = {};
  for (const [record, prefixes] of others) says[record] = [...prefixes].sort(byPlace).join(', ');
  const truthIs = truthName[truth.record];
  // By fallback: the record of the mode is silent, and another one is believed.
  if (says[truthIs] === undefined) says.used = ours.join(', ');
  const isUsed = differing.some(
    (record) =>
      record === 'agent' ||
      record === 'kernel' ||
      record === 'NodeBlock' ||
      ('record' in announcedBy && announcedBy.record === record),
  );
  const fix = disagreementFix(survey, node.name, truthIs, differing);
  const about = { node: node.name, prefix: ours.join(', '), owner: node.name };
  return finding('SourcesDisagree', isUsed ? 'warning' : 'info', { ...about, says, fix });
}

const byPlace = (a: Prefix, b: Prefix) => a.compare(b);

function disagreementFix(
  survey: Survey,
  node: string,
  truthIs: RecordName,
  differing: readonly RecordName[],
): Cure {
  const wrong = wrongRecord(survey);
  if (differing.includes('agent') || differing.includes('kernel')) {
    return cure(
      'SeeAgent',
      `see what the agent of ${node} waits for: kubectl describe nodereport ${node}`,
    );
  }
  if (differing.includes('Node.spec')) {
    // A Node that is made again gets another block where somebody allocates, and the agent
    // of Cilium stays in the one it has: pods would be lost for a record that nobody reads.
    const leave = 'leave Node.spec.podCIDRs as it is: it cannot change while the Node exists';
    return wrong === undefined
      ? cure('LeaveNodeSpec', `${truthIs} is what counts; ${leave}, and stop who writes it`)
      : cure('LeaveNodeSpec', `pods use ${truthIs}, but ${wrong.why}: ${wrong.cure}; ${leave}`);
  }
  if (differing.includes('annotation')) {
    return cure(
      'CorrectRecord',
      `correct the annotation of ${node}: it must say what ${truthIs} says`,
    );
  }
  return cure(
    'CorrectRecord',
    `${truthIs} is what counts; correct ${differing.join(' and ')} of ${node}`,
  );
}

/**
 * Cilium's operator by its own flag: it runs, gives out blocks, and so does Cadastre. On
 * the same addresses that is a matter of time, whatever records say today.
 */
function ciliumAllocates(survey: Survey): DoctorFinding | undefined {
  const { truth, evidence, poolSpace } = survey;
  const { ciliumOperator: operator, cilium } = evidence;
  if (truth.record !== 'register' || operator?.runs !== true) return undefined;
  const ipam = operator.ipam ?? cilium?.ipam;
  if (ipam === undefined || !ciliumOperatorAllocates(ipam)) return undefined;
  const isPooled = ipam === 'multi-pool';
  const ranges = isPooled
    ? (evidence.ciliumPodPools ?? []).flatMap(({ cidrs }) => cidrs)
    : clusterPoolRanges(cilium);
  // No range that was seen: not known to be others than ours.
  const isSame =
    poolSpace === undefined ||
    ranges.length === 0 ||
    ranges.some((one) => poolSpace.overlapping(one) !== undefined);
  // Other addresses, and other fields of CiliumNode than ours: they do not meet.
  if (!isSame && isPooled && !truth.mode.isPooledByCilium) return undefined;
  const given = ranges.length === 0 ? '' : ` out of ${ranges.join(', ')}`;
  return finding('SecondAllocator', isSame ? 'critical' : 'warning', {
    says: {
      NodeBlock: `the truth in mode ${truth.mode.name} (${truth.why})`,
      'cilium-operator': `runs with ipam ${ipam} and gives out blocks${given}`,
    },
    fix: operatorStep,
  });
}

function clusterPoolRanges(cilium: CiliumSettings | undefined): Prefix[] {
  return families.flatMap((family) => readPrefixes(cilium?.clusterPool[family].cidrs ?? []));
}

/** Whether what a record says is cut from the addresses that our pools are made of. */
function drawsFromOurs({ nodes, poolSpace }: Survey, record: RecordName): boolean {
  return [...nodes.values()].some(({ records }) =>
    (records.get(record) ?? []).some((prefix) => poolSpace?.overlapping(prefix) !== undefined),
  );
}

/**
 * Two allocators: a record that only an allocator fills in says something else
 * than the truth. Left-overs look the same on old nodes, so that it needs the
 * record on every node that has blocks, or the allocator's own flag.
 */
function secondAllocators(
  survey: Survey,
  records: ReadonlyMap<RecordName, { nodes: string[]; differ: number }>,
): DoctorFinding[] {
  const { truth, evidence } = survey;
  const served = [...survey.nodes.values()].filter(({ blocks }) => blocks.length > 0).length;
  const found: DoctorFinding[] = [];
  const report = (record: RecordName, who: string, fix: Cure, isSame = false) => {
    const { nodes, differ } = records.get(record) ?? { nodes: [], differ: 0 };
    const says = {
      [truthName[truth.record]]: `the truth in mode ${truth.mode.name} (${truth.why})`,
      [record]: `set on ${nodes.length} of ${plural(survey.nodes.size, 'node')} by ${who}, and differs on ${differ}`,
    };
    found.push(finding('SecondAllocator', isSame ? 'critical' : 'warning', { says, fix }));
  };
  const spec = records.get('Node.spec');
  const isEverywhere = (record: { nodes: string[]; differ: number } | undefined) =>
    record !== undefined && record.differ > 0 && record.nodes.length === served;
  if (truth.record !== 'node' && evidence.controllerManagerAllocates !== false) {
    const isKnown = evidence.controllerManagerAllocates === true && (spec?.differ ?? 0) > 0;
    if (isKnown || isEverywhere(spec)) {
      report(
        'Node.spec',
        'kube-controller-manager',
        cure('StopNodeIpam', 'run kube-controller-manager with --allocate-node-cidrs=false'),
        isKnown && drawsFromOurs(survey, 'Node.spec'),
      );
    }
  }
  const ofCilium = ciliumAllocates(survey);
  if (ofCilium !== undefined) found.push(ofCilium);
  else if (
    truth.record === 'register' &&
    evidence.ciliumOperator === undefined &&
    modeOfCilium(evidence.cilium?.ipam ?? '')?.pools === 'flags' &&
    isEverywhere(records.get('CiliumNode'))
  ) {
    report('CiliumNode', "Cilium's operator", operatorStep);
  }
  if (truth.record === 'node' && isEverywhere(records.get('NodeBlock'))) {
    report(
      'NodeBlock',
      "Cadastre's operator",
      cure('RunOneAllocator', 'run one of them: stop the operator, or change --ipam'),
    );
  }
  return found;
}
