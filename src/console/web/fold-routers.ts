/** Of many routers each node has sessions with few: their columns become one. */
import type { TruthCell, TruthRow } from '../../plan/doctor/truth-row.ts';
import type { ColumnRow } from '../rows.ts';

/** Up to so many routers have a column of their own. */
const mostColumns = 4;

const worstFirst: ReadonlyArray<TruthCell['state']> = [
  'conflict',
  'differs',
  'missing',
  'agrees',
  'empty',
  'unseen',
];

export interface FoldedTable {
  columns: ColumnRow[];
  rows: TruthRow[];
}

export function foldRouters(
  columns: ColumnRow[],
  rows: TruthRow[],
  isRouter: (name: string) => boolean,
): FoldedTable {
  const routers = columns.filter(({ label }) => isRouter(label));
  if (routers.length <= mostColumns) return { columns, rows };
  const ids = new Set(routers.map(({ id }) => id));
  const seen = routers.filter(({ isSeen }) => isSeen).length;
  const folded: ColumnRow = {
    id: 'routers',
    label: `${routers.length} routers`,
    title: `What the routers have in their tables that this node has to do with; ${seen} of ${routers.length} are seen`,
    isSeen: seen > 0,
    at: Math.min(...routers.map(({ at }) => at)),
  };
  return {
    columns: [...columns.filter(({ id }) => !ids.has(id)), folded].sort((a, b) => a.at - b.at),
    rows: rows.map((row) => ({ ...row, cells: foldCells(row.cells, ids) })),
  };
}

function foldCells(cells: readonly TruthCell[], ids: ReadonlySet<string>): TruthCell[] {
  const own = cells.filter(({ column }) => ids.has(column));
  const [worst] = [...own].sort(
    (a, b) => worstFirst.indexOf(a.state) - worstFirst.indexOf(b.state),
  );
  const folded: TruthCell = {
    column: 'routers',
    cidrs: [...new Set(own.flatMap(({ cidrs }) => cidrs))].sort(),
    state: worst?.state ?? 'unseen',
  };
  const others = own.flatMap((cell) => cell.others ?? []);
  if (others.length > 0) folded.others = others;
  return [...cells.filter(({ column }) => !ids.has(column)), folded];
}
