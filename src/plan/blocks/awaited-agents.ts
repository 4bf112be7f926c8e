import type { NodeReport } from '../../model/node-report.ts';
import type { Register } from './register.ts';
import { claimSame, isReportOf } from './report-uses.ts';

/** What agents have to be heard about, after the API server's store went back in time. */
export interface AwaitedAgents {
  /** By name, the versions of the reports that the store had then: one that is still there says nothing new. */
  readonly versions: ReadonlyMap<string, string>;
  /** What agents had reported before; undefined where nobody remembers. */
  readonly before: ReadonlyMap<string, NodeReport> | undefined;
}

/**
 * The names of agents that have not reported since. Who remembers waits for those
 * that had reported, and takes a report that is as it was for an answer: its agent has
 * nothing to add, and so writes nothing. Who remembers nothing waits for an agent on
 * every node: one that joined after the backup is in no list.
 */
export function unheardAgents(register: Register, { versions, before }: AwaitedAgents): string[] {
  const isNew = (report: NodeReport) => versions.get(report.name) !== report.resourceVersion;
  const isHeard = (name: string): boolean => {
    const report = register.reports.get(name);
    if (report === undefined) return false;
    if (before !== undefined) return isNew(report) || claimSame(before.get(name), report);
    return isNew(report) && isReportOf(report, register.nodes.get(name));
  };
  return [...(before ?? register.nodes).keys()].filter((name) => !isHeard(name));
}

/** The versions of all reports. */
export function reportVersions({ reports }: Register): Map<string, string> {
  return new Map([...reports].map(([name, { resourceVersion }]) => [name, resourceVersion]));
}
