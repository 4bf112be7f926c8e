/**
 * What the routers that the operator hears hold, and until when they held it. All times
 * are the operator's monotonic milliseconds; `Infinity` is "at this moment". Because every
 * event moves them, a route or a session that came and went between two looks is not missed.
 */
import type { Family } from '../../net/family.ts';
import type { Prefix } from '../../net/prefix.ts';

export interface HeardRouter {
  readonly name: string;
  /** Every address by which a node may know it as a BGP peer. */
  readonly addresses: ReadonlySet<string>;
  /** BMP shows its neighbors and what each advertised; a BGP session its best paths alone. */
  readonly by: 'bmp' | 'bgp';
  /**
   * Since when everything of a family is received, without a break. Absent: nothing, or not
   * all of it. A missing route of such a family means nothing.
   */
  readonly completeSinceMs: Readonly<Partial<Record<Family, number>>>;
  /** When it last held a route to this prefix, or to a piece of it, whoever advertised it. */
  lastRouteMs(prefix: Prefix): number | undefined;
  /** When it last had an established session with this neighbor; only BMP can see that. */
  lastSessionMs(neighbor: string): number | undefined;
}

export interface HeardRouters {
  readonly routers: readonly HeardRouter[];
}

/** Nobody is heard: without `--witness` routers say nothing, neither held nor free. */
export const noHeardRouters: HeardRouters = { routers: [] };
