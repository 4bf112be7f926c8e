import type { RouterTable } from '../plan/doctor/evidence.ts';
import type { ConnectedRouter, SeenRouter } from '../witness/connected-router.ts';
import type { Witness } from '../witness/witness.ts';
import type { RouterView } from './router-view.ts';
import type { MetaRow } from './rows.ts';

/** Routers that can be asked what they hold. */
export interface ConsoleRouters {
  views(): RouterView[];
  /** For the comparison; without it, what the views show. */
  tables?(): RouterTable[];
  /** Which of them are heard, and which not. */
  sources?(): MetaRow['sources'];
  onChange(listener: () => void): void;
}

/** A page is no place for a table of the internet; the comparison still has all of it. */
const mostRoutes = 20_000;

/** Routers that are listened to, as the page shows them. What is not complete is not shown. */
export function witnessRouters(
  witness: Pick<Witness, 'seen' | 'connected' | 'onChange'>,
): ConsoleRouters {
  return {
    views: () => {
      const connected = new Map(witness.connected);
      return witness.seen().map((seen) => viewOf(seen, connected.get(seen.table.router)));
    },
    tables: () => witness.seen().map(({ table }) => table),
    sources: () => witness.seen().map(sourceOf),
    onChange: (listener) => witness.onChange(listener),
  };
}

/** Dumps of routers: what they held when somebody asked them. */
export function dumpedRouters(dumps: readonly SeenRouter[]): ConsoleRouters {
  return {
    views: () => dumps.map((seen) => viewOf(seen)),
    tables: () => dumps.map(({ table }) => table),
    sources: () => dumps.map(sourceOf),
    onChange: () => {},
  };
}

/** A router that is listened to stands before a dump of the same name: it is newer. */
export function allRouters(listened: ConsoleRouters, dumped: ConsoleRouters): ConsoleRouters {
  const both = <T>(of: (routers: ConsoleRouters) => T[], nameOf: (item: T) => string): T[] => {
    const live = of(listened);
    const names = new Set(live.map(nameOf));
    return [...live, ...of(dumped).filter((item) => !names.has(nameOf(item)))];
  };
  return {
    views: () =>
      both(
        (one) => one.views(),
        ({ name }) => name,
      ),
    tables: () =>
      both(
        (one) => one.tables?.() ?? [],
        ({ router }) => router,
      ),
    sources: () =>
      both(
        (one) => one.sources?.() ?? [],
        ({ name }) => name,
      ),
    onChange: (listener) => listened.onChange(listener),
  };
}

function viewOf({ table, source }: SeenRouter, known?: ConnectedRouter): RouterView {
  const { router: name, families, routes } = table;
  const isTooLarge = routes.length > mostRoutes;
  const why = isTooLarge ? `${routes.length} routes, too many for a page` : source.note;
  const isUp = families.size > 0 && !isTooLarge;
  const shown = isUp ? routes.filter(({ prefix }) => families.has(prefix.family)) : [];
  return {
    name,
    addresses: [...table.addresses],
    asn: known?.asn ?? 0,
    isUp,
    ...(isUp ? {} : { why: why ?? 'not known' }),
    sessions: (known?.neighbors ?? []).map(({ address, upSinceMs, routes: count }) => ({
      node: address,
      state: 'Established',
      sinceMs: upSinceMs,
      routes: count,
      isRestarting: false,
    })),
    held: shown.map(({ prefix, nextHop, from }) => ({
      prefix: prefix.toString(),
      nextHop,
      from: from ?? '',
      sinceMs: 0,
      isStale: false,
    })),
  };
}

function sourceOf({ source }: SeenRouter): MetaRow['sources'][number] {
  const { name, holds, note, state } = source;
  return { name, detail: state === 'seen' ? holds : (note ?? holds), isSeen: state === 'seen' };
}
