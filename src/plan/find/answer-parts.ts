import type { AnswerList, Cell } from './subject.ts';

/** A page and a terminal show so many; the figure beside the title is the whole. */
const mostRows = 500;

export function listOf<T>(
  title: string,
  columns: readonly string[],
  all: readonly T[],
  rowOf: (one: T) => Cell[],
): AnswerList {
  return { title, columns, rows: all.slice(0, mostRows).map(rowOf), total: all.length };
}

export function present(
  facts: ReadonlyArray<readonly [string, Cell | readonly Cell[] | false]>,
): Array<{ name: string; cells: readonly Cell[] }> {
  return facts.flatMap(([name, value]) => {
    if (value === false) return [];
    const cells = 'text' in value ? [value] : value;
    return cells.length === 0 ? [] : [{ name, cells }];
  });
}
