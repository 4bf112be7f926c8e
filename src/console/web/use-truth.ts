import { type TruthTable, truthTable } from '../truth-table.ts';
import { store, useStore } from './store.ts';

let made: { version: string; table: TruthTable } | undefined;

/** Made once for all views that ask, and again only when a row of it changed. */
export function useTruth(): TruthTable {
  useStore();
  const version = store.version('node', 'block', 'router');
  if (made?.version !== version) {
    const nodes = store
      .all('node')
      .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
    const routers = store.all('router').sort((a, b) => a.name.localeCompare(b.name));
    made = { version, table: truthTable({ nodes, blocks: store.map('block').values(), routers }) };
  }
  return made.table;
}
