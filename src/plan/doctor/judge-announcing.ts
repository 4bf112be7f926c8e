import { isPeerOf } from '../../model/bgp-peer.ts';
import { noCure } from '../../model/cures.ts';
import type { Family } from '../../net/family.ts';
import { type CiliumAnnouncing, isToAnnounce } from '../cilium/announces.ts';
import { isMeantToBeWithdrawn } from '../node/leaving.ts';
import { type Claimants, saysAbout } from './claimants.ts';
import { type DoctorFinding, finding, hurtsIf, hurtsNow } from './finding.ts';
import { routeFix } from './fixes.ts';
import { statedReason } from './stated-reasons.ts';
import type { Survey, SurveyedNode } from './survey.ts';

/**
 * What agents say themselves about their sessions, and Cilium's BGP objects about
 * theirs: a block that a node owns and does not announce to one of its routers. Nodes that say nothing about BGP are
 * not judged, unless a peer is configured for them.
 */
export function judgeAnnouncing(survey: Survey, claimants: Claimants): DoctorFinding[] {
  const found: DoctorFinding[] = [];
  const byCilium = familiesByCilium(survey);
  for (const [name, surveyed] of survey.nodes) {
    const { node, report, blocks } = surveyed;
    if (surveyed.byCilium !== undefined) {
      found.push(...announcingOfCilium(claimants, surveyed, surveyed.byCilium, byCilium));
      continue;
    }
    const sessions = report?.status?.sessions;
    if (sessions === undefined) continue;
    if (sessions.length === 0 && !hasPeer(survey, surveyed)) continue;
    for (const { key } of blocks) {
      if (isMeantToBeWithdrawn(node, report?.status, key)) continue;
      const missing = sessions.filter(
        ({ state, announced }) =>
          state !== 'Established' || !announced.some((one) => one.prefix === key),
      );
      if (sessions.length > 0 && missing.length === 0) continue;
      const isNowhere = missing.length === sessions.length;
      const others = sessions.filter((session) => !missing.includes(session));
      const stated = statedReason(surveyed, key);
      const about = { node: name, prefix: key, owner: name };
      const says = {
        ...saysAbout(claimants, key),
        ...(sessions.length === 0 ? { sessions: 'none' } : {}),
        ...Object.fromEntries(
          missing.map(({ peer, state, lastError }) => [
            `session ${peer}`,
            `${state}${lastError === undefined ? '' : `: ${lastError}`}, not announced`,
          ]),
        ),
        ...stated.says,
      };
      const last = others.length === 1 ? others[0]?.peer : undefined;
      const hurts =
        last === undefined
          ? hurtsNow(...(isNowhere ? [name] : []))
          : hurtsIf(`lose-router ${last}`, [name], key);
      const fix = stated.fix ?? routeFix(survey, 'NotAnnounced', about);
      const severity = isNowhere ? 'critical' : 'warning';
      found.push(finding('NotAnnounced', severity, { ...about, says, hurts, fix }));
    }
  }
  return found;
}

/**
 * By Cilium's BGP objects: a block that is to be announced and does not go out, to some
 * router or to any; and a node that no object is about while other nodes announce.
 */
function announcingOfCilium(
  claimants: Claimants,
  surveyed: SurveyedNode,
  announcing: CiliumAnnouncing,
  announcedFamilies: ReadonlySet<Family>,
): DoctorFinding[] {
  const { name } = surveyed.node;
  return surveyed.blocks.flatMap(({ key, prefix }) => {
    const planned = announcing.announcements.filter((one) => one.prefix.equals(prefix));
    const others = planned.filter(({ gap }) => gap === undefined);
    if (planned.length > 0 && others.length === planned.length) return [];
    const isMeant = isToAnnounce(announcing, prefix);
    if (!isMeant && !announcedFamilies.has(prefix.family)) return [];
    const stated = statedReason(surveyed, key);
    const about = { node: name, prefix: key, owner: name };
    const says = { ...saysAbout(claimants, key), ...stated.says };
    const last = others.length === 1 ? others[0]?.peer.name : undefined;
    const isNowhere = isMeant && others.length === 0;
    const hurts =
      last === undefined
        ? hurtsNow(...(isNowhere ? [name] : []))
        : hurtsIf(`lose-router ${last}`, [name], key);
    const fix = stated.fix ?? noCure;
    const severity = isNowhere ? 'critical' : 'warning';
    return [finding('NotAnnounced', severity, { ...about, says, hurts, fix })];
  });
}

/** Families of blocks that some node is to announce. */
function familiesByCilium({ nodes }: Survey): ReadonlySet<Family> {
  const found = new Set<Family>();
  for (const { byCilium } of nodes.values()) {
    for (const family of byCilium?.wholeFamilies ?? []) found.add(family);
  }
  return found;
}

function hasPeer({ evidence }: Survey, { node }: SurveyedNode): boolean {
  return evidence.peers.some((peer) => isPeerOf(peer, node.labels));
}
