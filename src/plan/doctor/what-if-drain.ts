import { hostPrefix } from '../../model/service-address.ts';
import { isService } from './judge-strays.ts';
import { type RoutedPrefix, type RoutePath, type RouteView, usedPaths } from './route-view.ts';
import { isAddressOf, type Survey, type SurveyedBlock } from './survey.ts';
import type { ChangesAnswer, Loss, RouteMove } from './what-if-answer.ts';

/**
 * Nodes go, and every path through them with them. A block of theirs goes too,
 * which is the point of draining; a block of somebody else that enters there is
 * lost, wherever no other path is left. Only prefixes that lead to the nodes are
 * looked at, so asking for one node costs what that node announces.
 */
export function drainNodes(survey: Survey, names: readonly string[]): ChangesAnswer {
  const missing = names.find((name) => !survey.nodes.has(name));
  if (missing !== undefined) {
    const isDown = survey.down.has(missing);
    const why = isDown
      ? `${missing} is down already: the doctor says who is hurt`
      : `there is no node ${missing}`;
    return { kind: 'unknown', why };
  }
  const blind = blindness(survey);
  if (blind !== undefined) return { kind: 'unknown', why: blind };
  const leaving = new Set(names);
  const touched = new Map<string, Pick<RoutedPrefix, 'key' | 'prefix'>>();
  for (const name of leaving) {
    for (const { key, prefix } of survey.nodes.get(name)?.blocks ?? []) {
      touched.set(key, { key, prefix });
    }
  }
  for (const view of survey.views) {
    for (const name of leaving) {
      for (const routed of view.via.get(name) ?? []) touched.set(routed.key, routed);
    }
  }
  const loses: Loss[] = [];
  const moves: RouteMove[] = [];
  const sorted = [...touched.values()].sort((a, b) => a.prefix.compare(b.prefix));
  for (const { prefix, key } of sorted) {
    const views = survey.views.filter((view) => view.families.has(prefix.family));
    const held = views.map((view) => heldAt(view, prefix, key, leaving));
    for (const owner of ownersOf(survey, key, prefix)) {
      if (leaving.has(owner.node)) moves.push(goes(owner.node, key, held));
      else judgeLoss(owner, key, held, loses, moves);
    }
    if (!survey.claims.isFree(prefix)) continue;
    const announcers = held.flatMap(({ before }) => before.map(pathNode));
    const announcer = announcers.find((one) => leaving.has(one)) ?? '';
    if (isService(survey, prefix, announcer)) {
      judgeService(survey, { key, prefix }, announcer, held, loses, moves);
    } else {
      // Nobody's: an orphan that goes with its announcer, or stays with another.
      moves.push({ ...goes(announcer, key, held), why: 'nobody owns it' });
    }
  }
  return { kind: 'changes', loses, moves, refused: [] };
}

/** Without a router and without knowing what is announced nobody can say who would be hurt. */
export function blindness(survey: Survey): string | undefined {
  if (survey.views.length > 0 || survey.announcedBy.kind === 'nothing') return undefined;
  return `no router was shown, and what nodes announce is not known (${survey.announcedBy.why})`;
}

interface Held {
  view: RouteView;
  before: readonly RoutePath[];
  /** What is left; a path that was not used before takes over. */
  after: readonly RoutePath[];
}

function heldAt(
  view: RouteView,
  prefix: SurveyedBlock['prefix'],
  key: string,
  leaving: ReadonlySet<string>,
): Held {
  const stays = ({ hop }: RoutePath) => hop.kind !== 'node' || !leaving.has(hop.node);
  const before = usedPaths(view, prefix, key);
  const kept = before.filter(stays);
  const spare = (view.routes.get(key)?.paths ?? []).filter(stays);
  return { view, before, after: kept.length > 0 ? kept : spare };
}

/** Whose pods the prefix reaches: the block itself, blocks inside it, the one around it. */
function ownersOf(survey: Survey, key: string, prefix: SurveyedBlock['prefix']): SurveyedBlock[] {
  const exact = survey.owners.get(key);
  if (exact !== undefined) return exact;
  return survey.claims.overlapping(prefix).map(({ owner }) => survey.blocks[owner]!);
}

function judgeLoss(
  { node, key: block }: SurveyedBlock,
  key: string,
  held: readonly Held[],
  loses: Loss[],
  moves: RouteMove[],
): void {
  const lost = held.filter(({ before, after }) => before.length > 0 && after.length === 0);
  const left = held.filter(({ after }) => after.length > 0);
  const entered = [...new Set(held.flatMap(({ before }) => before.map(pathNode)))].filter(Boolean);
  if (lost.length > 0) {
    const where = lost.map(({ view }) => view.name).join(' and ');
    const rest = lost.some(({ view }) => !view.isRouter)
      ? `nobody else announces ${key}`
      : `${where} ${lost.length === 1 ? 'has' : 'have'} no other way to ${key}`;
    loses.push({
      node,
      prefix: block,
      why: `its traffic enters at ${entered.join(', ')}; ${rest}`,
      alternatives: left.map((one) => `${one.view.name} ${pathsText(one.after)}`),
    });
    return;
  }
  moves.push({
    node,
    prefix: block,
    from: heldText(held, 'before'),
    to: heldText(held, 'after'),
    why: 'another path is left',
  });
}

/** Several nodes may announce it; what counts is whether one of them stays. */
function judgeService(
  { evidence, nodes }: Survey,
  { key, prefix }: Pick<RoutedPrefix, 'key' | 'prefix'>,
  node: string,
  held: readonly Held[],
  loses: Loss[],
  moves: RouteMove[],
): void {
  const surveyed = nodes.get(node);
  if (surveyed !== undefined && isAddressOf(surveyed, prefix.first().toString())) {
    moves.push({ ...goes(node, key, held), why: 'address of the node itself' });
    return;
  }
  const service = evidence.serviceAddresses.find(({ address }) =>
    hostPrefix(address).equals(prefix),
  )?.service;
  const whose = `address of ${service === undefined ? 'a Service' : `Service ${service}`}`;
  if (held.every(({ before, after }) => before.length === 0 || after.length > 0)) {
    moves.push({ ...goes(node, key, held), why: `${whose}: other nodes announce it` });
    return;
  }
  loses.push({
    node,
    prefix: key,
    isService: true,
    why: `${whose}: no other node announces it`,
    alternatives: held
      .filter(({ after }) => after.length > 0)
      .map(({ view, after }) => `${view.name} ${pathsText(after)}`),
  });
}

function goes(node: string, key: string, held: readonly Held[]): RouteMove {
  const isLeft = held.some(({ after }) => after.length > 0);
  return {
    node,
    prefix: key,
    from: heldText(held, 'before'),
    to: isLeft ? heldText(held, 'after') : held.length === 0 ? 'not announced' : 'no route',
    why: isLeft ? 'stays, announced by somebody else: an Orphan' : 'goes with its node',
  };
}

const pathNode = ({ hop, nextHop }: RoutePath) => (hop.kind === 'node' ? hop.node : nextHop);

const pathsText = (paths: readonly RoutePath[]) => `via ${paths.map(pathNode).join(', ')}`;

/** Routers that say the same are named together. */
function heldText(held: readonly Held[], when: 'before' | 'after'): string {
  if (held.length === 0) return 'no router was shown';
  const by = new Map<string, string[]>();
  for (const one of held) {
    const text = one[when].length === 0 ? 'no route' : pathsText(one[when]);
    by.set(text, [...(by.get(text) ?? []), one.view.name]);
  }
  return [...by].map(([text, views]) => `${views.join(', ')}: ${text}`).join('; ');
}
