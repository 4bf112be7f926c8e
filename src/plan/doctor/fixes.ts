import type { DoctorReason } from './finding.ts';
import type { Survey } from './survey.ts';

export interface RouteCase {
  prefix: string;
  owner: string | null;
  node: string | null;
}

const upgrade = 'upgrade Cilium to 1.12 or newer';

/** Nodes announce a record that is not the truth: the incident's cause, and its cure. */
export function wrongRecord({ announcedBy, truth }: Survey): string | undefined {
  if (announcedBy.kind !== 'record') return undefined;
  const isRight =
    announcedBy.record === 'CiliumNode' ? truth.record === 'ciliumnode' : truth.record === 'node';
  return isRight ? undefined : announcedBy.why;
}

/** The change that cures a route, for people: whoever reads it may not know the others. */
export function routeFix(survey: Survey, reason: DoctorReason, on: RouteCase): string {
  const { prefix, owner, node } = on;
  const wrong = wrongRecord(survey);
  switch (reason) {
    case 'Detour':
      return wrong === undefined
        ? `see why ${node} announces ${prefix}; until it stops, do not drain ${node}`
        : `${wrong}, not what pods use: ${upgrade}; until then ask whatif before a node goes`;
    case 'Blackhole':
      return wrong === undefined
        ? `make ${owner} announce ${prefix}; on the routers, see that they accept it`
        : `${wrong}, not what pods use: ${upgrade}; at once: a static route on the routers for ${prefix} to ${survey.nextHops.addressOf(owner ?? '') || owner}`;
    case 'Orphan':
      return wrong === undefined
        ? `see why ${node} announces ${prefix}, which is nobody's; restarting routers will not help`
        : `${node} announces it from its own record (${wrong}): ${upgrade}; restarting routers will not help`;
    case 'Stale':
      return `clear the route on the router; if it stays, it is configured there`;
    case 'WrongNextHop':
      return `on the router, see who set the next hop of ${prefix}; it must be ${survey.nextHops.addressOf(owner ?? '') || owner}`;
    case 'NotHeld':
      return `on the router, look for a filter, a prefix limit or a session that is down with ${owner}`;
    case 'NotAnnounced':
      return wrong === undefined
        ? `see the sessions of ${owner}: kubectl get nodereport ${owner} -o yaml`
        : `${wrong}, not what pods use: ${upgrade}`;
    case 'UnknownPrefix':
      return `find out what on ${node} announces ${prefix}; if it is meant, nothing is to be done`;
    default:
      return '';
  }
}
