import { addToGroup } from '../../base/add-to-group.ts';
import { cure } from '../../model/cures.ts';
import type { ReportedHijack } from '../../model/node-report-status.ts';
import { type DoctorFinding, finding, hurtsNow } from './finding.ts';
import type { Survey } from './survey.ts';

/**
 * What routers advertise to a node about its own blocks (NodeReport.status.hijacks). Only of
 * blocks that are the node's by the record that counts: an agent that is cut off may
 * take a block for its own that belongs to another by now, and then the routers are right.
 */
export function judgeHijacks(survey: Survey): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  for (const [name, { report, blocks }] of survey.nodes) {
    const stated = report?.status?.hijacks;
    // An agent of another version, or a file, may hold anything there.
    if (!Array.isArray(stated)) continue;
    const own = new Set(blocks.map(({ key }) => key));
    const byPrefix = new Map<string, ReportedHijack[]>();
    for (const hijack of stated) {
      if (own.has(hijack.cidr)) addToGroup(byPrefix, hijack.prefix, hijack);
    }
    for (const [prefix, hijacks] of byPrefix) found.push(hijacked(survey, name, prefix, hijacks));
  }
  return found;
}

function hijacked(
  survey: Survey,
  node: string,
  prefix: string,
  hijacks: readonly ReportedHijack[],
): DoctorFinding {
  const [first] = hijacks as readonly [ReportedHijack];
  const { cidr, ownNextHop } = first;
  const piece = prefix === cidr ? '' : `, a piece of ${cidr},`;
  const own =
    ownNextHop === undefined
      ? `${cidr} is not announced to ${first.peer}`
      : `announces ${cidr} with next hop ${ownNextHop}`;
  const leads = (nextHop: string) => {
    const hop = survey.nextHops.of({ nextHop });
    return hop.kind === 'node' ? `${nextHop} (${hop.node})` : nextHop;
  };
  return finding('Hijacked', 'critical', {
    node,
    prefix,
    owner: node,
    says: {
      agent: own,
      ...Object.fromEntries(
        hijacks.map(({ peer, nextHop }) => [
          `router ${peer}`,
          `reaches ${prefix}${piece} by next hop ${leads(nextHop)}`,
        ]),
      ),
    },
    hurts: hurtsNow(node),
    fix: cure(
      'StopHijack',
      `on router ${first.peer}: find who advertises ${prefix} with next hop ${leads(first.nextHop)}, and stop it there`,
    ),
  });
}
