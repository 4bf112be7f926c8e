import { announcesOwnRecordFrom, releaseText } from '../../model/cilium-support.ts';
import { type Cure, cure, noCure, notTried } from '../../model/cures.ts';
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
  cure: Cure;
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
    const words = `upgrade Cilium to ${releaseText(announcesOwnRecordFrom)} or newer ${notTried}`;
    return { why, cure: cure('UpgradeCilium', words) };
  }
  const owner = on?.owner ?? undefined;
  const named = owner === undefined ? [] : (nodes.get(owner)?.records.get(record) ?? []);
  if (owner === undefined || named.some((one) => one.toString() === on?.prefix)) return undefined;
  const writer = truth.record === 'register' ? `; the operator does, with ${project[record]}` : '';
  const words = `see why nobody writes ${on?.prefix} to ${record} of ${owner}${writer}`;
  return { why, cure: cure('ProjectRecord', words) };
}

const project: Readonly<Record<AnnouncedRecord, string>> = {
  CiliumNode: '--project ciliumnode',
  'Node.spec': '--project node-spec',
};

/** The change that cures a route, for people: whoever reads it may not know the others. */
export function routeFix(survey: Survey, reason: DoctorReason, on: RouteCase): Cure {
  const { prefix, owner, node } = on;
  const wrong = wrongRecord(survey, on);
  const notPods = `${wrong?.why}, not what pods use: ${wrong?.cure}`;
  const nextHop = survey.nextHops.addressOf(owner ?? '') || owner;
  switch (reason) {
    case 'Detour':
      return wrong === undefined
        ? cure(
            'StopAnnouncer',
            `see why ${node} announces ${prefix}; until it stops, do not drain ${node}`,
          )
        : cure('StopAnnouncer', `${notPods}; until then ask whatif before a node goes`);
    case 'Blackhole':
      if (survey.announcedBy.kind === 'unknown' && survey.announcedBy.isUnread) {
        return cure(
          'ReadBgpObjects',
          `give the right to list Cilium's BGP objects, which say whether ${owner} is to announce ${prefix}; if it is, see its sessions: kubectl get ciliumbgpnodeconfig ${owner} -o yaml`,
        );
      }
      return wrong === undefined
        ? cure(
            'AnnounceBlock',
            `make ${owner} announce ${prefix}; on the routers, see that they accept it`,
          )
        : cure(
            'StaticRoute',
            `${notPods}; at once: a static route on the routers for ${prefix} to ${nextHop}`,
          );
    case 'Orphan':
      return wrong === undefined
        ? cure(
            'StopAnnouncer',
            `see why ${node} announces ${prefix}, which is nobody's; restarting routers will not help`,
          )
        : cure(
            'StopAnnouncer',
            `${node} announces it from its own record (${wrong.why}): ${wrong.cure}; restarting routers will not help`,
          );
    case 'Stale':
      return cure(
        'ClearRoute',
        `clear the route on the router; if it stays, it is configured there`,
      );
    case 'WrongNextHop':
      return cure(
        'CorrectNextHop',
        `on the router, see who set the next hop of ${prefix}; it must be ${nextHop}`,
      );
    case 'NotHeld':
      return cure(
        'SeeRouterFilter',
        `on the router, look for a filter, a prefix limit or a session that is down with ${owner}`,
      );
    case 'NotAnnounced':
      return wrong === undefined
        ? cure(
            'SeeSessions',
            `see the sessions of ${owner}: kubectl get nodereport ${owner} -o yaml`,
          )
        : cure('ProjectRecord', notPods);
    case 'UnknownPrefix':
      return cure(
        'StopAnnouncer',
        `find out what on ${node} announces ${prefix}; if it is meant, nothing is to be done`,
      );
    default:
      return noCure;
  }
}
