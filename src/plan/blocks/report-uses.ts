import type { ClusterNode } from '../../model/node.ts';
import type { NodeReport } from '../../model/node-report.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';

/**
 * NodeReport.spec.uses: the blocks that a node's agent uses, whatever the register
 * says. After a restore of etcd it is the only record of blocks that were assigned
 * since the backup, so it is a source of adoption.
 *
 * A report speaks for the Node whose uid it has. One of a Node that is gone, or was
 * made anew under another uid, still keeps its blocks from everybody else: the
 * machine may be running. The Node of that name adopts them once its agent has
 * reported for the new uid.
 */
export function isReportOf(
  report: NodeReport | undefined,
  node: ClusterNode | undefined,
): report is NodeReport {
  if (report === undefined || node === undefined) return false;
  // Objects in files often carry no uid; then the name has to do.
  return report.nodeUid === node.uid || report.nodeUid === '' || node.uid === '';
}

/** What the agent gives back or has fenced is no longer in use. */
export function statedUses({ uses = [], releases, fenced = [] }: NodeReport): string[] {
  if (uses.length === 0) return [];
  const ended = new Set([...releases, ...fenced].map(({ cidr }) => cidr));
  return uses.filter(({ cidr }) => !ended.has(cidr)).map(({ cidr }) => cidr);
}

/** Whether two reports claim the same: most writes of a report change only what was seen. */
export function claimSame(a: NodeReport | undefined, b: NodeReport): boolean {
  if (a === undefined) return statedUses(b).length === 0;
  return a.nodeUid === b.nodeUid && statedUses(a).join() === statedUses(b).join();
}

/** What a report says that another Node of its name uses, be that gone or made anew. */
export function usesOfFormer(
  report: NodeReport | undefined,
  node: ClusterNode | undefined,
): Prefix[] {
  if (report === undefined || isReportOf(report, node)) return [];
  return statedUses(report).flatMap((text) => parsePrefix(text) ?? []);
}
