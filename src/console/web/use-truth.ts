/** The Truth table as the page shows it: the server judges, this puts rows in order. */
import type { TruthRow } from '../../plan/doctor/truth-row.ts';
import type { ColumnRow, NodeRow } from '../rows.ts';
import { foldRouters } from './fold-routers.ts';
import { plainName } from './parts.tsx';
import { store, useStore } from './store.ts';

/** A cell says that `node` has what `owner` has. */
export interface TruthLine {
  node: string;
  column: string;
  cidr: string;
  owner: string;
}

export interface ShownTruth {
  columns: ColumnRow[];
  rows: TruthRow[];
  lines: TruthLine[];
  /** Blocks about which not everybody says the same. */
  disputed: Set<string>;
}

let made: { version: string; table: ShownTruth } | undefined;

/** Made once for all views that ask, and again only when a row of it changed. */
export function useTruth(): ShownTruth {
  useStore();
  const version = `${store.version('truth', 'column', 'block')} ${store.map('router').size}`;
  if (made?.version !== version) made = { version, table: shownTruth() };
  return made.table;
}

/** A node's blocks by the record that is the truth in this mode. */
export function blocksOf(node: NodeRow): readonly string[] {
  return store.map('truth').get(node.name)?.cells[0]?.cidrs ?? node.register;
}

export function isRed(state: string): boolean {
  return state === 'differs' || state === 'missing' || state === 'conflict';
}

function shownTruth(): ShownTruth {
  const routers = store.map('router');
  const { columns, rows } = foldRouters(
    store.all('column').sort((a, b) => a.at - b.at),
    store.all('truth').sort((a, b) => plainName.compare(a.node, b.node)),
    (name) => routers.has(name),
  );
  const lines: TruthLine[] = [];
  const disputed = new Set<string>();
  for (const { node, cells } of rows) {
    const own = cells[0]?.cidrs ?? [];
    for (const { column, cidrs, state, others = [] } of cells) {
      if (!isRed(state)) continue;
      for (const cidr of own) if (state === 'conflict' || !cidrs.includes(cidr)) disputed.add(cidr);
      for (const cidr of cidrs) if (!own.includes(cidr)) disputed.add(cidr);
      for (const { cidr, owner } of others) lines.push({ node, column, cidr, owner });
    }
  }
  // A block that cools down has no owner any more: routers may still have a route to it.
  const blocks = store.map('block');
  for (const cidr of disputed) if (blocks.get(cidr)?.phase === 'Cooling') disputed.delete(cidr);
  return { columns, rows, lines, disputed };
}
