import { podCidrAnnotations } from '../../model/keys.ts';
import { families } from '../../net/family.ts';
import { parsePrefix } from '../../net/prefix.ts';
import type { PatchOperation } from '../blocks/projection.ts';
import type { DoctorFinding, DoctorReason } from './finding.ts';
import type { Survey, SurveyedNode } from './survey.ts';

/**
 * What of the findings can be cured by a write that is safe by construction: it
 * changes one object, is fenced by that object's uid and by the value or version
 * it was decided on, and could at worst be the write that the operator would make
 * itself. Everything else stays advice: a person weighs whom it hurts.
 */
export type RepairStep = {
  reason: DoctorReason;
  node: string;
  prefix: string;
  /** For people: what is written. */
  does: string;
  /** For people: why nothing can go wrong. */
  safe: string;
} & RepairAction;

export type RepairAction =
  | { do: 'correct annotations'; operations: PatchOperation[] }
  /** The Node must not exist; asked of the API server itself just before. */
  | { do: 'cool block'; block: Fence }
  | { do: 'delete ciliumnode'; cilium: Fence };

export interface Fence {
  name: string;
  uid: string;
  resourceVersion: string;
}

export interface RepairPlan {
  steps: RepairStep[];
  /** The findings that no step cures. */
  advice: DoctorFinding[];
}

export function planRepair(survey: Survey, findings: readonly DoctorFinding[]): RepairPlan {
  const plan: RepairPlan = { steps: [], advice: [] };
  for (const finding of findings) {
    const step = stepFor(survey, finding);
    if (step === undefined || !isWholeCure(survey, finding)) plan.advice.push(finding);
    if (step !== undefined && !plan.steps.some((known) => sameStep(known, step)))
      plan.steps.push(step);
  }
  return plan;
}

/** Node.spec.podCIDRs cannot be corrected: where it differs too, the finding stays. */
function isWholeCure(survey: Survey, { reason, node }: DoctorFinding): boolean {
  const surveyed = survey.nodes.get(node ?? '');
  if (reason !== 'SourcesDisagree' || surveyed === undefined) return true;
  return surveyed.node.podCidrs.every((text) =>
    surveyed.blocks.some(({ prefix }) => parsePrefix(text)?.equals(prefix)),
  );
}

function stepFor(survey: Survey, finding: DoctorFinding): RepairStep | undefined {
  if (finding.reason === 'SourcesDisagree') return correctAnnotations(survey, finding);
  if (finding.reason === 'StrandedBlock') return strandedBlock(survey, finding);
  return undefined;
}

/**
 * The annotation is a copy of the register. It is corrected where it alone is
 * wrong: if what the agent or Cilium uses differs too, pods may live in the other
 * block, and a person must look.
 */
function correctAnnotations(survey: Survey, finding: DoctorFinding): RepairStep | undefined {
  const surveyed = survey.nodes.get(finding.node ?? '');
  if (surveyed === undefined || survey.truth.record !== 'register') return undefined;
  const { node } = surveyed;
  if (node.uid === '' || surveyed.registered.length === 0) return undefined;
  const operations: PatchOperation[] = [{ op: 'test', path: '/metadata/uid', value: node.uid }];
  const corrected: string[] = [];
  for (const family of families) {
    const own = surveyed.blocks.filter(({ prefix }) => prefix.family === family);
    const [first] = own;
    if (first === undefined || !othersAgree(surveyed, family)) continue;
    for (const key of podCidrAnnotations[family]) {
      const before = node.annotations[key];
      if (before === undefined) continue;
      const said = parsePrefix(before);
      if (own.some(({ prefix }) => said?.equals(prefix))) continue;
      const path = `/metadata/annotations/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      operations.push({ op: 'test', path, value: before }, { op: 'add', path, value: first.key });
      corrected.push(`${key} from ${before} to ${first.key}`);
    }
  }
  if (corrected.length === 0) return undefined;
  return {
    do: 'correct annotations',
    operations,
    reason: finding.reason,
    node: node.name,
    prefix: finding.prefix ?? '',
    does: `sets on Node ${node.name} ${corrected.join(', and ')}`,
    safe: 'the register, and whatever else says what pods use, agree; refused if the Node or the value is another by then',
  };
}

/** Whether the records that say what pods really use say what the register says. */
function othersAgree({ cilium, report, blocks }: SurveyedNode, family: 'ipv4' | 'ipv6'): boolean {
  const used = [
    ...(cilium?.podCidrs ?? []),
    ...(report?.status?.blocks ?? []).map(({ cidr }) => cidr),
    ...(report?.status?.kernel?.ownRoutes ?? []),
  ];
  return used.every((text) => {
    const prefix = parsePrefix(text);
    if (prefix === undefined || prefix.family !== family) return true;
    return blocks.some((own) => own.prefix.equals(prefix));
  });
}

function strandedBlock(survey: Survey, finding: DoctorFinding): RepairStep | undefined {
  const { blocks, ciliumNodes } = survey.evidence;
  const name = finding.node ?? '';
  const prefix = finding.prefix ?? '';
  const shared = { reason: finding.reason, node: name, prefix };
  const block = blocks.find((one) => one.prefix.toString() === prefix && one.nodeName === name);
  if (block !== undefined) {
    // One that names another uid of a node that is there is given to it by the operator.
    if (block.uid === '' || block.deleting) return undefined;
    // That it has rested, and who says that its node does not use it, is for an operator to find.
    if (block.phase === 'Cooling') return undefined;
    if (survey.nodes.has(name)) return undefined;
    return {
      ...shared,
      do: 'cool block',
      block: fenceOf(block),
      does: `sets NodeBlock ${block.name} to Cooling: there is no Node ${name}`,
      safe: 'it stays registered for its cool-down; refused if the Node is there, or the block another, by then',
    };
  }
  const cilium = ciliumNodes.find(
    (one) =>
      one.name === name && one.podCidrs.some((text) => parsePrefix(text)?.toString() === prefix),
  );
  if (cilium === undefined || cilium.uid === '' || survey.nodes.has(name)) return undefined;
  return {
    ...shared,
    do: 'delete ciliumnode',
    cilium: fenceOf(cilium),
    does: `deletes CiliumNode ${name}: there is no Node ${name}`,
    safe: 'refused if the Node is there, or the CiliumNode has changed, by then',
  };
}

function fenceOf({ name, uid, resourceVersion }: Fence): Fence {
  return { name, uid, resourceVersion };
}

/** One CiliumNode may be found once for each of its blocks, a Node once for each family. */
function sameStep(a: RepairStep, b: RepairStep): boolean {
  return a.do === b.do && a.node === b.node && a.does === b.does;
}
