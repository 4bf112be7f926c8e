/**
 * Whether an object's next form is news for the judgement. Most are not: kubelets
 * report that they are alive, agents count their pods. Who judges again and again asks
 * here first, because comparing two objects costs a thousandth of a judgement.
 *
 * Load-bearing: what is left out is named, so that a field that is added later
 * counts as news until somebody says otherwise.
 */

import type { WitnessReport } from '../../model/cluster-kinds.ts';
import type { ClusterNode } from '../../model/node.ts';

export function isNodeNews(next: ClusterNode, prev: ClusterNode | undefined): boolean {
  return prev === undefined || comparedNode(next) !== comparedNode(prev);
}

/** Only a judgement that was shown the pods too compares their number (LeakedAddress). */
export function isReportNews(next: WitnessReport, prev: WitnessReport | undefined): boolean {
  return prev === undefined || comparedReport(next) !== comparedReport(prev);
}

function comparedNode(node: ClusterNode): string {
  // The two conditions are what was said of the node, not what it says.
  return JSON.stringify({ ...node, resourceVersion: '', condition: '', drift: '' });
}

function comparedReport({ announced: _, pods: __, status, ...report }: WitnessReport): string {
  // `announced` is read off the sessions, which are compared whole.
  const blocks = status?.blocks?.map((block) => ({ ...block, pods: 0, resting: 0 }));
  return JSON.stringify({ ...report, resourceVersion: '', status: { ...status, blocks } });
}
