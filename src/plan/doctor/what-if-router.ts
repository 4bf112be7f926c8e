import { usedPaths } from './route-view.ts';
import type { Survey } from './survey.ts';
import type { ChangesAnswer, Loss, RouteMove } from './what-if-answer.ts';

/** A router goes: who is reachable through no other. */
export function loseRouter(survey: Survey, name: string): ChangesAnswer {
  const routers = survey.views.filter(({ isRouter }) => isRouter);
  const gone = routers.find((view) => view.name === name);
  if (gone === undefined) {
    const known = routers.map((view) => view.name).join(', ') || 'none was shown';
    return { kind: 'unknown', why: `there is no router ${name} (${known})` };
  }
  const loses: Loss[] = [];
  const moves: RouteMove[] = [];
  for (const { prefix, key, node } of survey.blocks) {
    if (usedPaths(gone, prefix, key).length === 0) continue;
    const others = routers.filter(
      (view) => view !== gone && usedPaths(view, prefix, key).length > 0,
    );
    if (others.length > 0) {
      const to = others.map((view) => view.name).join(', ');
      const from = [name, to].join(', ');
      moves.push({ node, prefix: key, from, to, why: 'another router holds it' });
    } else {
      const why = `no other router that was shown holds ${key}`;
      loses.push({ node, prefix: key, why, alternatives: [] });
    }
  }
  return { kind: 'changes', loses, moves, refused: [] };
}
