import { expect, test } from 'vitest';
import { bothRoutes, cleanWorlds, node, router } from '../../../test/doctor/worlds.ts';
import type { Evidence } from './evidence.ts';
import { judgeSurvey } from './judge.ts';
import { survey } from './survey.ts';
import { truthTable } from './truth-table.ts';
import { whatIf } from './what-if.ts';

const down = router('tor2', [], { families: new Set() });
const world = (...routers: Evidence['routers'][number][]): Evidence => ({
  ...cleanWorlds['ip-pool of Cadastre'](),
  routers,
});

test('a router that could not be asked has its column, not seen, and nothing is concluded from it', () => {
  const surveyed = survey(world(router('tor1', bothRoutes), down));
  const findings = judgeSurvey(surveyed);
  const { columns, rows } = truthTable(surveyed, findings);
  expect(findings).toEqual([]);
  const routers = columns.filter(({ id }) => id.startsWith('router '));
  expect(routers.map(({ label, isSeen }) => [label, isSeen])).toEqual([
    ['tor1', true],
    ['tor2', false],
  ]);
  for (const { cells } of rows) {
    expect(cells.map(({ column }) => column)).toEqual(columns.map(({ id }) => id));
    expect(cells.slice(-2).map(({ state }) => state)).toEqual(['agrees', 'unseen']);
  }
});

test('where none could be asked, what is announced is compared, and no node counts as down', () => {
  const { nodes, ...rest } = world(down);
  const [first, ...others] = nodes;
  const surveyed = survey({ ...rest, nodes: [{ ...first!, isNotReady: true }, ...others] });
  expect([...surveyed.nodes.keys()]).toEqual(['a', 'b']);
  expect(surveyed.views.map(({ name }) => name)).toEqual(['announced']);
  expect(judgeSurvey(surveyed)).toEqual([]);
  const silent = { ...rest, reports: [], nodes: [node('a', '10.0.0.1')] };
  expect(whatIf(silent, { kind: 'drain', nodes: ['a'] }).kind).toBe('unknown');
});
