import type { Block } from '../../model/node-block.ts';
import type { NodeReport } from '../../model/node-report.ts';
import type { Register } from './register.ts';
import { isReportOf, statedUses } from './report-uses.ts';

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
 * had reported or lost a block, and takes a report that names all that is known of it for
 * an answer: its agent has spoken already, or has nothing to add. Who remembers
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
  const namesAll = (report: NodeReport) => {
    const known = before.reports.get(report.name);
    const lost = before.lost.filter(({ nodeName }) => nodeName === report.name);
    const uses = new Set(statedUses(report));
    return [
      ...(known === undefined ? [] : statedUses(known)),
      ...lost.map(({ prefix }) => prefix.toString()),
    ].every((cidr) => uses.has(cidr));
  };
  const names = new Set([...before.reports.keys(), ...before.lost.map((block) => block.nodeName)]);
  return [...names].filter((name) => {
    const report = register.reports.get(name);
    return report === undefined || !(isNew(report) || namesAll(report));
  });
}

/** The versions of all reports. */
export function reportVersions({ reports }: Register): Map<string, string> {
  return new Map([...reports].map(([name, { resourceVersion }]) => [name, resourceVersion]));
}
