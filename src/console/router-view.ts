import { families } from '../net/family.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { RouterTable } from '../plan/doctor/evidence.ts';

/** What a router says of itself, wherever it was asked. */
export interface RouterView {
  name: string;
  /** As the nodes' peers name it. */
  address: string;
  asn: number;
  isUp: boolean;
  sessions: RouterSession[];
  held: HeldRouteRow[];
}

export interface RouterSession {
  node: string;
  state: string;
  /** When it was first seen in this state. */
  sinceMs: number;
  routes: number;
  /** The session is gone and its routes are kept for a restart. */
  isRestarting: boolean;
}

export interface HeldRouteRow {
  prefix: string;
  nextHop: string;
  /** The node whose session brought it. */
  from: string;
  sinceMs: number;
  isStale: boolean;
}

/** The same for the comparison; a router that is down has said nothing, which is not to hold nothing. */
export function tablesOf(views: readonly RouterView[]): RouterTable[] {
  return views.map(({ name, address, isUp, held }) => ({
    router: name,
    families: new Set(isUp ? families : []),
    addresses: [address],
    routes: (isUp ? held : []).flatMap(({ prefix, nextHop, from }) => {
      const parsed = parsePrefix(prefix);
      return parsed === undefined ? [] : [{ prefix: parsed, nextHop, isUsed: true, from }];
    }),
  }));
}
