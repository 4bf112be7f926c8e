import type { Block } from '../../model/node-block.ts';
import type { NodeReport } from '../../model/node-report.ts';
import type { Register } from './register.ts';
import { claimSame, isReportOf, statedUses } from './report-uses.ts';

/** Who has to be heard, after the API server's store went back in time. */
export interface AwaitedAgents {
  /** By name, the versions of the reports that the store had then: one that is still there says nothing new. */
  readonly versions: ReadonlyMap<string, string>;
  /** What was known before; undefined where nobody remembers. */
  readonly before: KnownBefore | undefined;
}

export interface KnownBefore {
  readonly reports: ReadonlyMap<string, NodeReport>;
  /** Blocks in use that the register has no longer. */
  readonly lost: readonly Block[];
}

/**
 * The names of agents that have not reported since. Who remembers waits for those that
 * had reported or lost a block, and takes a report that is as it was, and names what was
 * lost, for an answer: its agent has nothing to add, and so writes nothing. Who remembers
 * nothing waits for an agent on every node: one that joined after the backup is in no list.
 */
export function unheardAgents(register: Register, awaited: AwaitedAgents): string[] {
  const { versions, before } = awaited;
  const isNew = (report: NodeReport) => versions.get(report.name) !== report.resourceVersion;
  if (before === undefined) {
    return [...register.nodes.values()].flatMap((node) => {
      const report = register.reports.get(node.name);
      return isReportOf(report, node) && isNew(report) ? [] : [node.name];
    });
  }
  const isAsBefore = (report: NodeReport) => {
    const { name } = report;
    if (before.reports.has(name) && !claimSame(before.reports.get(name), report)) return false;
    const uses = statedUses(report);
    return before.lost.every(
      ({ nodeName, prefix }) => nodeName !== name || uses.includes(prefix.toString()),
    );
  };
  const names = new Set([...before.reports.keys(), ...before.lost.map((block) => block.nodeName)]);
  return [...names].filter((name) => {
    const report = register.reports.get(name);
    return report === undefined || !(isNew(report) || isAsBefore(report));
  });
}

/** The versions of all reports. */
export function reportVersions({ reports }: Register): Map<string, string> {
  return new Map([...reports].map(([name, { resourceVersion }]) => [name, resourceVersion]));
}
