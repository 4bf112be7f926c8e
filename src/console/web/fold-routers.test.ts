import { expect, test } from 'vitest';
import type { TruthCell, TruthRow } from '../../plan/doctor/truth-row.ts';
import { foldRouters } from './fold-routers.ts';

const column = (id: string, at: number) => ({ id, label: id, title: '', isSeen: true, at });
const cell = (id: string, state: TruthCell['state'], ...cidrs: string[]): TruthCell => ({
  column: id,
  state,
  cidrs,
});
const isRouter = (name: string) => name.startsWith('tor');

test('few routers keep their columns', () => {
  const columns = ['truth', 'tor1', 'tor2'].map(column);
  expect(foldRouters(columns, [], isRouter).columns).toBe(columns);
});

test('of many routers one column is left, as bad as the worst of them', () => {
  const names = ['tor1', 'tor2', 'tor3', 'tor4', 'tor5'];
  const columns = ['truth', ...names].map(column);
  const row = (worst: TruthCell['state']): TruthRow => ({
    node: 'a',
    reasons: [],
    cells: [
      cell('truth', 'truth', '10.1.0.0/24'),
      cell('tor1', 'agrees', '10.1.0.0/24'),
      cell('tor2', worst),
      ...names.slice(2).map((name) => cell(name, 'empty')),
    ],
  });
  const table = foldRouters(columns, [row('empty'), row('missing')], isRouter);
  expect(table.columns.map(({ label }) => label)).toEqual(['truth', '5 routers']);
  expect(table.rows.map(({ cells }) => cells[1])).toEqual([
    cell('routers', 'agrees', '10.1.0.0/24'),
    cell('routers', 'missing', '10.1.0.0/24'),
  ]);
});
