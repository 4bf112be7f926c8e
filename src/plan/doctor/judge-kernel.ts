import { cure } from '../../model/cures.ts';
import { type Claimants, saysAbout } from './claimants.ts';
import { type DoctorFinding, finding, hurtsIf } from './finding.ts';
import type { Survey } from './survey.ts';

/**
 * The routes of the machine we run on: a block of another node that it sends to a
 * third one. What it takes for its own is one of the node's records.
 */
export function judgeKernel(survey: Survey, claimants: Claimants): DoctorFinding[] {
  const { kernel } = survey.evidence;
  if (kernel === undefined) return [];
  const found: DoctorFinding[] = [];
  for (const { prefix, via, isLocal } of kernel.routes) {
    if (isLocal || via === undefined) continue;
    const key = prefix.toString();
    const owners = survey.owners.get(key);
    const hop = survey.nextHops.of({ nextHop: via });
    if (owners === undefined || hop.kind !== 'node') continue;
    if (owners.some(({ node }) => node === hop.node)) continue;
    const [{ node: owner } = { node: '' }] = owners;
    const says = {
      ...saysAbout(claimants, key),
      [`kernel of ${kernel.node}`]: `via ${via} (${hop.node})`,
    };
    const hurts = hurtsIf(`drain ${hop.node}`, [owner], key);
    const fix = cure(
      'ReplaceKernelRoute',
      `on ${kernel.node}: ip route replace ${key} via ${survey.nextHops.addressOf(owner)}`,
    );
    const about = { node: hop.node, prefix: key, owner };
    found.push(finding('Detour', 'warning', { ...about, says, hurts, fix }));
  }
  return found;
}
