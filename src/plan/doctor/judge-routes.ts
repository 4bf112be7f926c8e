import { isMeantToBeWithdrawn } from '../node/leaving.ts';
import { type Claimants, sideBySide } from './claimants.ts';
import { Expectations } from './expectations.ts';
import { type DoctorFinding, type DoctorReason, finding, hurtsIf, hurtsNow } from './finding.ts';
import { routeFix } from './fixes.ts';
import { judgeStrays } from './judge-strays.ts';
import { type RouteView, usedPaths } from './route-view.ts';
import { statedReason } from './stated-reasons.ts';
import type { Survey, SurveyedBlock } from './survey.ts';

/** How one router stands to one block. */
interface Standing {
  view: RouteView;
  /** Nodes other than the owner at which traffic enters. */
  entries: string[];
  isRight: boolean;
  /** Next hops that lead to no node and no router. */
  nowhere: string[];
  /** No path that traffic takes. */
  isMissing: boolean;
}

/**
 * Every block against every router. The four faults that look alike at the
 * router and need four different cures are told apart by two questions: who owns
 * the prefix, and where does the next hop lead.
 *
 *                    owner alive           nobody owns it
 *   the owner        true                  -
 *   another node     Detour                Orphan
 *   no node          WrongNextHop          Stale
 *   no route         Blackhole             fine
 */
export function judgeRoutes(survey: Survey, claimants: Claimants): DoctorFinding[] {
  // Where nobody's blocks are known, every route would look like an orphan.
  if (survey.views.length === 0 || survey.blocks.length === 0) return [];
  const expectations = new Expectations(survey);
  const findings: DoctorFinding[] = [];
  for (const block of survey.blocks) {
    const views = survey.views.filter((view) => view.families.has(block.prefix.family));
    if (views.length === 0) continue;
    const owners = survey.owners.get(block.key) ?? [block];
    // Of a block with two owners no router can be right for both; that is a finding of its own.
    if (owners.length > 1 && owners[0] !== block) continue;
    const standings = views.map((view) => standingOf(view, block, owners));
    findings.push(...judgeBlock(survey, claimants, expectations, block, standings));
  }
  return findings.concat(judgeStrays(survey, claimants));
}

function standingOf(
  view: RouteView,
  { prefix, key }: SurveyedBlock,
  owners: readonly SurveyedBlock[],
): Standing {
  const standing: Standing = { view, entries: [], isRight: false, nowhere: [], isMissing: false };
  const paths = usedPaths(view, prefix, key);
  for (const { hop, nextHop } of paths) {
    if (hop.kind === 'unknown') standing.nowhere.push(nextHop);
    if (hop.kind !== 'node') continue;
    if (owners.some(({ node }) => node === hop.node)) standing.isRight = true;
    else if (!standing.entries.includes(hop.node)) standing.entries.push(hop.node);
  }
  standing.isMissing = paths.length === 0;
  return standing;
}

function judgeBlock(
  survey: Survey,
  claimants: Claimants,
  expectations: Expectations,
  block: SurveyedBlock,
  standings: readonly Standing[],
): DoctorFinding[] {
  const { key, node } = block;
  const found: DoctorFinding[] = [];
  const surveyed = survey.nodes.get(node);
  // Whose announcements are not known is not said to announce nothing.
  const isKnown = surveyed?.announces !== undefined;
  const doubt = expectations.doubtAbout(block);
  const report = (
    reason: DoctorReason,
    about: string,
    severity: DoctorFinding['severity'],
    hurts: DoctorFinding['hurts'],
  ) => {
    const isUnannounced = reason === 'Blackhole' || reason === 'NotAnnounced';
    const stated = statedReason(isUnannounced ? surveyed : undefined, key);
    const on = { node: about, prefix: key, owner: node };
    const views = standings.map(({ view }) => view);
    const says = {
      ...sideBySide(claimants, views, block.prefix, key, isKnown),
      ...stated.says,
      ...(reason === 'Blackhole' && doubt !== undefined ? { Cilium: doubt } : {}),
    };
    const fix = stated.fix ?? routeFix(survey, reason, on);
    found.push(finding(reason, severity, { ...on, says, hurts, fix }));
  };

  const entries = [...new Set(standings.flatMap((one) => one.entries))].sort();
  for (const entry of entries) {
    const remains = standings.every((one) => one.isRight || !one.entries.includes(entry));
    report(
      'Detour',
      entry,
      'warning',
      remains ? hurtsNow() : hurtsIf(`drain ${entry}`, [node], key),
    );
  }
  if (standings.some(({ nowhere }) => nowhere.length > 0)) {
    report('WrongNextHop', node, 'critical', hurtsNow(node));
  }
  const isLeaving =
    surveyed !== undefined && isMeantToBeWithdrawn(surveyed.node, surveyed.report?.status, key);
  const missing = standings.filter(
    ({ isMissing, view }) => isMissing && (view.isRouter || isKnown),
  );
  if (missing.length === 0 || isLeaving || !expectations.isMeant(block)) return found;
  const expected = missing.filter(({ view }) => expectations.expects(view, block));
  const isOfRouters = missing.some(({ view }) => view.isRouter);
  // A router that is not heard, or not yet, may have it: then it is only missing where it should be.
  const isNowhere =
    missing.length === standings.length && !(isOfRouters && expectations.isPerhapsElsewhere(block));
  if (isNowhere) {
    if (isOfRouters) {
      if (doubt === undefined) report('Blackhole', node, 'critical', hurtsNow(node));
      // Nobody is cut off where no block is announced on purpose.
      else report('Blackhole', node, 'warning', hurtsNow());
    } else report('NotAnnounced', node, 'critical', hurtsNow(node));
    if (expectations.isAnnounced(block)) report('NotHeld', node, 'critical', hurtsNow(node));
  } else if (expected.length > 0) {
    const others = standings.filter(({ isMissing, view }) => !isMissing && view.isRouter);
    const isLast = others.length === 1;
    const hurts = isLast ? hurtsIf(`lose-router ${others[0]?.view.name}`, [node], key) : hurtsNow();
    report('NotHeld', node, 'warning', hurts);
  }
  return found;
}
