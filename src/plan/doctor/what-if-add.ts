import type { Labels } from '../../model/label-selector.ts';
import type { ClusterNode } from '../../model/node.ts';
import { planAllocation } from '../blocks/allocation-plan.ts';
import { type Rules, rulesOf as rulesOfMode } from '../blocks/decide-node.ts';
import { registerOf } from '../blocks/register-of.ts';
import type { Survey } from './survey.ts';
import type { ChangesAnswer, Denial, RouteMove } from './what-if-answer.ts';

/** New nodes join: who gets which block, and who gets none. */
export function addNodes(survey: Survey, count: number, labels: Labels): ChangesAnswer {
  if (survey.pools.length === 0) return { kind: 'unknown', why: noPools(survey) };
  const register = registerOf(survey.evidence);
  const names = survey.evidence.nodes.map(({ name }) => name);
  const fresh = newNames(count, new Set(names));
  for (const name of fresh) register.putNode(newNode(name, labels, survey.evidence.nowMs));
  const plan = planAllocation(register, names.concat([...fresh]), rulesOf(survey));
  const moves: RouteMove[] = [];
  const refused: Denial[] = [];
  for (const { name, blocks, refused: denied } of plan.nodes) {
    if (!fresh.has(name)) continue;
    for (const { cidr, pool } of blocks) {
      moves.push({ node: name, prefix: cidr, from: 'free', to: `pool ${pool}`, why: 'newly cut' });
    }
    for (const { reason, detail } of denied) {
      refused.push({ node: name, prefix: null, reason, detail });
    }
  }
  return { kind: 'changes', loses: [], moves, refused };
}

/** `new-1` and so on, but for names that a node of the cluster has already. */
function newNames(count: number, taken: ReadonlySet<string>): Set<string> {
  const names = new Set<string>();
  for (let at = 1; names.size < count; at++) {
    if (!taken.has(`new-${at}`)) names.add(`new-${at}`);
  }
  return names;
}

export function noPools({ truth }: Survey): string {
  return `no pool is known in mode ${truth.mode.name} (${truth.why}); in mode kubernetes the range is a flag of kube-controller-manager`;
}

export function rulesOf({ truth }: Survey): Rules {
  return rulesOfMode(truth.mode, 'auto');
}

function newNode(name: string, labels: Labels, createdMs: number): ClusterNode {
  return {
    name,
    uid: name,
    resourceVersion: '',
    labels,
    createdMs,
    podCidrs: [],
    annotations: {},
    hasAnnotations: false,
    addresses: [],
    condition: undefined,
  };
}
