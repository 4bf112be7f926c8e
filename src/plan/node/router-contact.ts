/** What a node hears from its routers about its own blocks: what decision 30 is judged by. */

export interface RouterContact {
  /**
   * Monotonic: when any session was last established for certain; `Infinity` while one is; absent
   * if none was yet; `-Infinity` if all were lost for longer than the limit, whatever is up now. A
   * machine that was paused, and with it its monotonic clock, counts by the wall clock:
   * `now - lastUpMs` is the longer of both.
   */
  readonly lastUpMs?: number;
  readonly hijacks: readonly Hijack[];
}

/** A router reaches a block of this node, or a piece of it, elsewhere. */
export interface Hijack {
  /** The node's own block. */
  readonly cidr: string;
  /** What the router advertises: the block, or a piece of it. */
  readonly prefix: string;
  readonly peer: string;
  readonly nextHop: string;
  /** What this node advertises to that peer for the block; absent if it does not. */
  readonly ownNextHop?: string;
  /** Monotonic. */
  readonly sinceMs: number;
}
