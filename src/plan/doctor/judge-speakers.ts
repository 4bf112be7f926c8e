import { listNames } from '../../base/count-text.ts';
import { cure } from '../../model/cures.ts';
import type { CiliumAnnouncement } from '../cilium/announces.ts';
import { type DoctorFinding, finding } from './finding.ts';
import { canonicalAddress } from './next-hops.ts';
import type { Survey } from './survey.ts';

/**
 * Our agent and Cilium's on one node, both told to announce its blocks to the same router.
 * A router takes one session from an address: whoever is later is refused, and which of the
 * two that is changes with every restart.
 */
export function judgeSpeakers({ announcedBy, nodes }: Survey): DoctorFinding[] {
  if (announcedBy.kind !== 'objects') return [];
  const found: DoctorFinding[] = [];
  for (const [name, { node, cilium, report, blocks }] of nodes) {
    const sessions = report?.status?.sessions ?? [];
    if (sessions.length === 0) continue;
    const { announcements } = announcedBy.announcers.of({ name, labels: node.labels, cilium });
    const ours = new Set<string>();
    const theirs = new Set<CiliumAnnouncement>();
    for (const { peer, address, state, announced } of sessions) {
      // A session that is down may be so for that very reason.
      const own = blocks.filter(
        ({ key }) => state !== 'Established' || announced.some(({ prefix }) => prefix === key),
      );
      for (const one of announcements) {
        if (canonicalAddress(one.peer.address) !== canonicalAddress(address)) continue;
        if (!own.some(({ prefix }) => prefix.equals(one.prefix))) continue;
        ours.add(`${peer} (${address}, ${state})`);
        theirs.add(one);
      }
    }
    if (theirs.size === 0) continue;
    const each = (text: (one: CiliumAnnouncement) => string) => [...new Set([...theirs].map(text))];
    found.push(
      finding('SecondSpeaker', 'warning', {
        node: name,
        prefix: each(({ prefix }) => prefix.toString()).join(', '),
        owner: name,
        says: {
          agent: `announces to ${listNames([...ours])}`,
          Cilium: `is to announce to ${listNames(each(({ peer }) => `${peer.name} (${peer.address})`))}`,
        },
        fix: cure(
          'LetOneAnnounce',
          `let one of the two announce: ${each(({ stop }) => stop).join(' and ')}, or change nodeSelector of our BGPPeers so that none selects ${name}`,
        ),
      }),
    );
  }
  return found;
}
