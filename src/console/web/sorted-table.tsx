/** A table that sorts by a click on a column, filters by a word, and never grows beyond a screen or two. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { setQuery } from './location.ts';
import { Empty, Scroll, spacedCount } from './parts.tsx';

export interface Column<T> {
  name: string;
  /** What it is sorted and found by; absent: it is neither. */
  value?: (row: T) => string | number;
  cell: (row: T) => ComponentChildren;
  class?: string;
  /** The row's own name: a heading to who listens. */
  isHead?: boolean;
}

export interface SortedTableProps<T> {
  label: string;
  rows: readonly T[];
  columns: ReadonlyArray<Column<T>>;
  keyOf: (row: T) => string;
  /** `name`, or `-name` for the other way round: the query of the address. */
  sort: string;
  /** Under which word the order stands in the address; two tables of a view need two. */
  sortKey?: string;
  /** A word that some column must have. */
  find?: string;
  empty: string;
  class?: string;
  rowClass?: (row: T) => string;
  isTall?: boolean;
}

const byNumber = new Intl.Collator('en', { numeric: true });
/** More is drawn when asked for: five hundred rows of links are slow, and nobody reads them. */
const pageRows = 100;

export function SortedTable<T>(props: SortedTableProps<T>) {
  const { rows, columns, keyOf, sort, sortKey = 'sort', find = '', empty } = props;
  const [pages, setPages] = useState(1);
  const wanted = find.trim().toLowerCase();
  const sorted = useMemo(
    () => sortedRows(filtered(rows, columns, wanted), columns, sort),
    [rows, wanted, sort],
  );
  const shown = sorted.slice(0, pages * pageRows);
  const left = sorted.length - shown.length;
  const table = (
    <>
      <table class={props.class}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} sort={sort} sortKey={sortKey} />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={keyOf(row)} class={props.rowClass?.(row)}>
              {columns.map(({ name, cell, class: style, isHead }) =>
                isHead ? (
                  <th scope="row" key={name} class={style}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={name} class={style}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <Empty>{empty}</Empty>}
      {rows.length > 0 && sorted.length === 0 && <Empty>Nothing matches.</Empty>}
      {left > 0 && (
        <p class="more-rows">
          <button type="button" class="quiet" onClick={() => setPages(pages + 3)}>
            {`${spacedCount(shown.length)} of ${spacedCount(sorted.length)} are shown; show more`}
          </button>
        </p>
      )}
    </>
  );
  return (
    <Scroll class={props.isTall === false ? 'scroll' : 'scroll tall'} label={props.label}>
      {table}
    </Scroll>
  );
}

function Head<T>({ column, sort, sortKey }: { column: Column<T>; sort: string; sortKey: string }) {
  const { name, value, class: style } = column;
  const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none';
  if (value === undefined) {
    return (
      <th scope="col" class={style}>
        {name}
      </th>
    );
  }
  const next = order === 'ascending' ? `-${name}` : order === 'descending' ? '' : name;
  return (
    <th scope="col" class={style} aria-sort={order}>
      <button type="button" class="sorter" onClick={() => setQuery({ [sortKey]: next })}>
        {name}
        <span aria-hidden="true">{{ ascending: '▲', descending: '▼', none: '' }[order]}</span>
      </button>
    </th>
  );
}

function filtered<T>(
  rows: readonly T[],
  columns: ReadonlyArray<Column<T>>,
  wanted: string,
): readonly T[] {
  if (wanted === '') return rows;
  return rows.filter((row) =>
    columns.some(
      ({ value }) => value !== undefined && `${value(row)}`.toLowerCase().includes(wanted),
    ),
  );
}

/** Without an order the rows stay as they came. */
export function sortedRows<T>(
  rows: readonly T[],
  columns: ReadonlyArray<Pick<Column<T>, 'name' | 'value'>>,
  sort: string,
): readonly T[] {
  const isDown = sort.startsWith('-');
  const value = columns.find(({ name }) => name === (isDown ? sort.slice(1) : sort))?.value;
  if (value === undefined) return rows;
  const sign = isDown ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    const order =
      typeof x === 'number' && typeof y === 'number' ? x - y : byNumber.compare(`${x}`, `${y}`);
    return sign * order;
  });
}
