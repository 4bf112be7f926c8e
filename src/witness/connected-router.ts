import { plural } from '../base/count-text.ts';
import type { Nlri } from '../bgp/wire/message.ts';
import type { Family } from '../net/family.ts';
import { Prefix } from '../net/prefix.ts';
import type { HeardRouter } from '../plan/blocks/heard-routers.ts';
import type { RouterRoute, RouterTable } from '../plan/doctor/evidence.ts';
import type { Source } from '../plan/doctor/finding.ts';

/** What one router holds, and how well that is known. */
export interface SeenRouter {
  table: RouterTable;
  source: Source;
}

/** A session of the router with one of its neighbors. */
export interface RouterNeighbor {
  address: string;
  /** Of the clock on the wall; 0: the router did not say. */
  upSinceMs: number;
  routes: number;
}

/** A router whose connection is up. It ends with the connection, and with it all it has said. */
export interface ConnectedRouter extends HeardRouter {
  readonly asn: number;
  readonly neighbors: readonly RouterNeighbor[];
  readonly routeCount: number;
  /** Brings up to date what is complete; called every second, and before anybody is answered. */
  look(nowMs: number): void;
  /** This process was frozen: what came meanwhile may not be read yet. */
  startOver(): void;
  seen(): SeenRouter;
}

/** As the comparison takes it. Without a complete family the reason must be there. */
export function seenRouter(of: {
  kind: 'bmp' | 'bgp';
  name: string;
  addresses: Iterable<string>;
  routes: RouterRoute[];
  complete: ReadonlySet<Family>;
  /** What is not certain, in words. */
  notes: ReadonlyArray<string | undefined>;
  isPartly?: boolean;
}): SeenRouter {
  const { kind, name, routes, complete } = of;
  const notes = of.notes.filter((one) => one !== undefined);
  const only = complete.size === 1 ? ` (${[...complete].join()} only)` : '';
  return {
    table: { router: name, families: complete, routes, addresses: [...of.addresses] },
    source: {
      name,
      kind,
      state: complete.size > 0 && of.isPartly !== true ? 'seen' : 'partly',
      ageSeconds: 0,
      holds: `${kind.toUpperCase()}: ${plural(routes.length, 'route')}${only}`,
      ...(notes.length > 0 ? { note: notes.join('; ') } : {}),
    },
  };
}

export function prefixOf({ afi, length, w0, w1, w2, w3 }: Nlri): Prefix {
  return new Prefix(afi === 1 ? 'ipv4' : 'ipv6', length, w0, w1, w2, w3);
}
