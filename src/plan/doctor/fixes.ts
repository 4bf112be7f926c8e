import { announcesOwnRecordFrom, releaseText } from '../../model/cilium-support.ts';
import type { AnnouncedRecord } from './announced.ts';
import type { DoctorReason } from './finding.ts';
import type { Survey } from './survey.ts';

export interface RouteCase {
  prefix: string;
  owner: string | null;
  node: string | null;
}

/** What is announced instead of the truth, and what to do about it. */
export interface WrongRecord {
  why: string;
  cure: string;
}

/**
 * Nodes announce a record that is not the truth: the incident's cause. A Cilium so old that it
 * announces Node.spec in every mode is cured by another version, whatever the records say now;
 * otherwise the record itself is wrong, where it does not name what the node has.
 */
export function wrongRecord(survey: Survey, on?: RouteCase): WrongRecord | undefined {
  const { announcedBy, truth, nodes } = survey;
  if (announcedBy.kind !== 'record' && announcedBy.kind !== 'objects') return undefined;
  const { record, why } = announcedBy;
  if (truth.record === (record === 'CiliumNode' ? 'ciliumnode' : 'node')) return undefined;
  if (announcedBy.kind === 'record' && announcedBy.isOld) {
    return { why, cure: `upgrade Cilium to ${releaseText(announcesOwnRecordFrom)} or newer` };
  }
  const owner = on?.owner ?? undefined;
  const named = owner === undefined ? [] : (nodes.get(owner)?.records.get(record) ?? []);
  if (owner === undefined || named.some((one) => one.toString() === on?.prefix)) return undefined;
  const writer = truth.record === 'register' ? `; the operator does, with ${project[record]}` : '';
  return { why, cure: `see why nobody writes ${on?.prefix} to ${record} of ${owner}${writer}` };
}

const project: Readonly<Record<AnnouncedRecord, string>> = {
  CiliumNode: '--project ciliumnode',
  'Node.spec': '--project node-spec',
};

/** The change that cures a route, for people: whoever reads it may not know the others. */
export function routeFix(survey: Survey, reason: DoctorReason, on: RouteCase): string {
  const { prefix, owner, node } = on;
  const found = wrongRecord(survey, on);
  const wrong = found?.why;
  const cure = found?.cure;
  switch (reason) {
    case 'Detour':
      return wrong === undefined
        ? `see why ${node} announces ${prefix}; until it stops, do not drain ${node}`
        : `${wrong}, not what pods use: ${cure}; until then ask whatif before a node goes`;
    case 'Blackhole':
      if (survey.announcedBy.kind === 'unknown' && survey.announcedBy.isUnread) {
        return `let the doctor list Cilium's BGP objects, which say whether ${owner} is to announce ${prefix}; if it is, see its sessions: kubectl get ciliumbgpnodeconfig ${owner} -o yaml`;
      }
      return wrong === undefined
        ? `make ${owner} announce ${prefix}; on the routers, see that they accept it`
        : `${wrong}, not what pods use: ${cure}; at once: a static route on the routers for ${prefix} to ${survey.nextHops.addressOf(owner ?? '') || owner}`;
    case 'Orphan':
      return wrong === undefined
        ? `see why ${node} announces ${prefix}, which is nobody's; restarting routers will not help`
        : `${node} announces it from its own record (${wrong}): ${cure}; restarting routers will not help`;
    case 'Stale':
      return `clear the route on the router; if it stays, it is configured there`;
    case 'WrongNextHop':
      return `on the router, see who set the next hop of ${prefix}; it must be ${survey.nextHops.addressOf(owner ?? '') || owner}`;
    case 'NotHeld':
      return `on the router, look for a filter, a prefix limit or a session that is down with ${owner}`;
    case 'NotAnnounced':
      return wrong === undefined
        ? `see the sessions of ${owner}: kubectl get nodereport ${owner} -o yaml`
        : `${wrong}, not what pods use: ${cure}`;
    case 'UnknownPrefix':
      return `find out what on ${node} announces ${prefix}; if it is meant, nothing is to be done`;
    default:
      return '';
  }
}
