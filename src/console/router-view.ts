import { families } from '../net/family.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { RouterTable } from '../plan/doctor/evidence.ts';

/** What a router says of itself, wherever it was asked. */
export interface RouterView {
  name: string;
  /** As the nodes' peers name it. */
  addresses: string[];
  asn: number;
  /** What it holds is known. */
  isUp: boolean;
  /** Why not; without words it is down. */
  why?: string;
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
  /** The node whose session brought it, or the neighbor's address. */
  from: string;
  /** 0: not known. */
  sinceMs: number;
  isStale: boolean;
}

/** The same for the comparison; a router that is down has said nothing, which is not to hold nothing. */
export function tablesOf(views: readonly RouterView[]): RouterTable[] {
  return views.map(({ name, addresses, isUp, held }) => ({
    router: name,
    families: new Set(isUp ? families : []),
    addresses,
    routes: (isUp ? held : []).flatMap(({ prefix, nextHop, from }) => {
      const parsed = parsePrefix(prefix);
      return parsed === undefined ? [] : [{ prefix: parsed, nextHop, isUsed: true, from }];
    }),
  }));
}
