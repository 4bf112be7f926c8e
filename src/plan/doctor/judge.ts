/**
 * The doctor's judgement, pure: evidence in, findings out. The command line, the
 * operator and the console call the same function.
 *
 *   evidence        what was shown: objects, reports, router tables, the kernel
 *   truth           which record counts in this mode
 *   announced       which record that Cilium announces, or what agents say
 *   survey          all of it in order, once; what-if asks it too
 *   judge-records   SourcesDisagree, SecondAllocator
 *   judge-routes    Detour, Blackhole, NotHeld, WrongNextHop
 *   judge-strays    Orphan, Stale, UnknownPrefix
 *   judge-announcing   NotAnnounced
 *   judge-speakers  SecondSpeaker
 *   judge-kernel    Detour inside the machine we run on
 *   judge-blocks    DuplicateBlock, OverlappingBlocks, OutsidePools, OverlapsNetwork,
 *                   StrandedBlock, LeakedAddress
 *   judge-claims    ClaimRefused; OverlapsNetwork, where a node's address lies in a pool
 *   judge-pools     PoolNearlyFull, NoPoolForGroup, PoolsDiffer
 *   judge-restored  RestoredFromBackup
 *   judge-hijacks   Hijacked
 *   judge-reports   what agents found out by themselves
 *   judge-uses      DuplicateAddress, AgentOnOldBlock, PodsOutsideBlocks without a report
 *   causes          which findings have one cause, and how many pods each hurts
 *   truth-table     the same survey, node by node and source by source
 *
 * Load-bearing: everything is sorted before it is judged, so that the order in
 * which evidence came changes nothing; what was not seen is not judged, and the
 * sources say so.
 */
import { atOnce, type Steps } from '../../base/steps.ts';
import { apiVersion } from '../../model/keys.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { compareText } from '../pools/pool-set.ts';
import { causesOf } from './causes.ts';
import { claimantsOf } from './claimants.ts';
import type { Evidence } from './evidence.ts';
import { type DoctorFinding, type DoctorReport, doctorReasons, type Source } from './finding.ts';
import { judgeAnnouncing } from './judge-announcing.ts';
import { judgeBlocks } from './judge-blocks.ts';
import { judgeClaims } from './judge-claims.ts';
import { judgeHijacks } from './judge-hijacks.ts';
import { judgeKernel } from './judge-kernel.ts';
import { judgePools } from './judge-pools.ts';
import { judgeRecords } from './judge-records.ts';
import { judgeReports } from './judge-reports.ts';
import { judgeRestored } from './judge-restored.ts';
import { judgeRoutes } from './judge-routes.ts';
import { judgeSpeakers } from './judge-speakers.ts';
import { judgeUses } from './judge-uses.ts';
import { type Survey, survey } from './survey.ts';

/** What is wrong, worst first. */
export function judge(evidence: Evidence): DoctorFinding[] {
  return judgeSurvey(survey(evidence));
}

export function judgeSurvey(surveyed: Survey): DoctorFinding[] {
  return atOnce(judgeInSteps(surveyed));
}

/** The same in portions: who must not hold up other work pauses wherever this yields. */
export function* judgeInSteps(surveyed: Survey): Steps<DoctorFinding[]> {
  const claimants = claimantsOf(surveyed);
  yield;
  const parts: Array<() => DoctorFinding[] | Steps<DoctorFinding[]>> = [
    () => judgeRecords(surveyed),
    () => judgeRoutes(surveyed, claimants),
    () => judgeAnnouncing(surveyed, claimants),
    () => judgeSpeakers(surveyed),
    () => judgeKernel(surveyed, claimants),
    () => judgeBlocks(surveyed, claimants),
    () => judgeClaims(surveyed),
    () => judgePools(surveyed),
    () => judgeRestored(surveyed),
    () => judgeHijacks(surveyed),
    () => judgeReports(surveyed),
    () => judgeUses(surveyed, claimants),
  ];
  const found: DoctorFinding[] = [];
  for (const part of parts) {
    // One by one: a router's whole table may be strays, and a call takes only so many arguments.
    const made = part();
    for (const finding of Array.isArray(made) ? made : yield* made) found.push(finding);
    yield;
  }
  return inOrder(found);
}

export function reportOf(surveyed: Survey, findings: DoctorFinding[]): DoctorReport {
  const places = new Map(findings.map((one, at) => [one, at]));
  return {
    apiVersion,
    kind: 'DoctorReport',
    sources: surveyed.evidence.sources.map((source) => noted(surveyed, source)),
    checked: {
      nodes: surveyed.nodes.size,
      blocks: surveyed.blocks.length,
      routes: surveyed.views.reduce(
        (sum, { isRouter, pathCount }) => sum + (isRouter ? pathCount : 0),
        0,
      ),
    },
    findings,
    causes: causesOf(surveyed, findings).map(
      ({ title, reason, severity, podsHurt, nodesHurt, podsAtRisk, nodesAtRisk, ...cause }) => ({
        title,
        reason,
        severity,
        podsHurt,
        nodesHurt,
        podsAtRisk,
        nodesAtRisk,
        findings: cause.findings.map((one) => places.get(one) ?? 0),
      }),
    ),
  };
}

/** A router that leads to no node was read well, and still says little; that is to be seen. */
function noted(surveyed: Survey, source: Source): Source {
  const view = surveyed.views.find(({ name, isRouter }) => isRouter && name === source.name);
  if (view === undefined || view.via.size > 0 || view.pathCount === 0) return source;
  const words = 'none of its routes leads to a node';
  return { ...source, note: source.note === undefined ? words : `${source.note}; ${words}` };
}

/** By reason, then by place; the same finding is reported once. */
function inOrder(findings: readonly DoctorFinding[]): DoctorFinding[] {
  const rank = new Map<string, number>(doctorReasons.map((reason, at) => [reason, at]));
  const placed = findings.map((finding) => {
    const { reason, prefix, node, owner } = finding;
    const place = prefix === null ? undefined : parsePrefix(prefix.split(',', 1)[0]!);
    return {
      finding,
      rank: rank.get(reason) ?? 0,
      place,
      id: [reason, prefix, node, owner].join(' '),
    };
  });
  placed.sort(
    (a, b) =>
      a.rank - b.rank ||
      (a.place === undefined || b.place === undefined
        ? Number(a.place !== undefined) - Number(b.place !== undefined)
        : a.place.compare(b.place)) ||
      compareText(a.id, b.id),
  );
  return placed.filter(({ id }, at) => id !== placed[at - 1]?.id).map(({ finding }) => finding);
}
