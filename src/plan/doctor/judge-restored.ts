import type { WitnessReport } from '../../model/cluster-kinds.ts';
import { cure } from '../../model/cures.ts';
import { type Block, blockName } from '../../model/node-block.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import { isReportOf, statedUses } from '../blocks/report-uses.ts';
import { compareText } from '../pools/pool-set.ts';
import { type DoctorFinding, finding, hurtsNow } from './finding.ts';
import type { Survey } from './survey.ts';

/**
 * Blocks that agents use and the register does not have, or gives to another: the
 * register is older than the agents, as after a restore of etcd from a backup. The
 * operator takes back what is free; what another holds by now is for a person.
 */
export function judgeRestored(survey: Survey): DoctorFinding[] {
  const { reports, nodes, ciliumNodes, blocks } = survey.evidence;
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const cilium = new Set(ciliumNodes.map(({ name }) => name));
  const holders = blocks.filter(({ nodeName }) => nodeName !== '');
  const found: DoctorFinding[] = [];
  for (const report of [...reports].sort((a, b) => compareText(a.name, b.name))) {
    const { name } = report;
    const node = byName.get(name);
    const isFormer = !isReportOf(report, node);
    for (const text of statedUses(report)) {
      const prefix = parsePrefix(text);
      if (prefix === undefined || !wasRegistered(survey, report, prefix, cilium)) continue;
      const clashing = holders.filter((block) => block.prefix.overlaps(prefix));
      if (clashing.some(({ nodeName }) => nodeName === name)) continue;
      const [other] = clashing;
      // A former Node's block may have been given on in good order since.
      if (isFormer && other !== undefined) continue;
      found.push(
        other !== undefined
          ? disputed(name, prefix, other)
          : isFormer
            ? lostByFormer(name, prefix, node !== undefined)
            : lost(name, prefix),
      );
    }
  }
  return found;
}

/** Where blocks are registered; an agent of another mode uses what its own record says. */
function wasRegistered(
  { truth, nodes }: Survey,
  { name, uses }: WitnessReport,
  prefix: Prefix,
  cilium: ReadonlySet<string>,
): boolean {
  if (uses?.some(({ cidr, uid }) => uid !== undefined && parsePrefix(cidr)?.equals(prefix))) {
    return true;
  }
  if (truth.record !== 'register' || cilium.has(name)) return false;
  const records = nodes.get(name)?.records;
  return !['Node.spec' as const, 'annotation' as const].some((record) =>
    records?.get(record)?.some((one) => one.equals(prefix)),
  );
}

function disputed(
  node: string,
  prefix: Prefix,
  { nodeName, prefix: theirs }: Block,
): DoctorFinding {
  const patch = cure(
    'GiveBlockBack',
    `kubectl patch nodeblock ${blockName(theirs)} --type merge -p '{"spec":{"phase":"Draining"}}'`,
  );
  return finding('RestoredFromBackup', 'critical', {
    node,
    prefix: `${prefix}`,
    owner: nodeName,
    says: { NodeBlock: `${nodeName} (${theirs})`, agent: `${node} uses it` },
    hurts: hurtsNow(node, nodeName),
    fix: cure(
      'GiveBlockBack',
      `give it back to ${node} (${patch}: ${node} takes it over when ${nodeName} has emptied it), or delete the pods of ${node} that have addresses of it`,
    ),
  });
}

function lost(node: string, prefix: Prefix): DoctorFinding {
  return finding('RestoredFromBackup', 'critical', {
    node,
    prefix: `${prefix}`,
    owner: node,
    says: { NodeBlock: 'nobody', agent: `${node} uses it` },
    hurts: hurtsNow(node),
    fix: cure(
      'RunOperator',
      `the operator takes it back from what ${node} reports: see that one runs, and the Events of ${node}`,
    ),
  });
}

function lostByFormer(node: string, prefix: Prefix, isAnew: boolean): DoctorFinding {
  const which = isAnew ? 'an earlier Node of that name' : 'no such Node';
  const first = isAnew ? `see that the agent of ${node} runs` : `register ${node} again`;
  return finding('RestoredFromBackup', 'warning', {
    node,
    prefix: `${prefix}`,
    says: { NodeBlock: 'nobody', agent: `${node} (${which}) uses it` },
    fix: cure(
      'ReportAgain',
      `${first}; or, if that machine is off: kubectl delete nodereport ${node}`,
    ),
  });
}
