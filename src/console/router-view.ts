/** What a router says of itself, wherever it was asked. */
export interface RouterView {
  name: string;
  /** As the nodes' peers name it. */
  address: string;
  asn: number;
  isUp: boolean;
  sessions: RouterSession[];
  held: HeldRoute[];
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

export interface HeldRoute {
  prefix: string;
  nextHop: string;
  /** The node whose session brought it. */
  from: string;
  sinceMs: number;
  isStale: boolean;
}
