/** What a story's expectations are judged by: values, taken from the world once and then fixed. */
import type { HeldRoute } from '../routers/router.ts';
import type { PingCount } from './ping-tally.ts';
import type { RouteEvent } from './route-watch.ts';

export interface ObservedBlock {
  readonly uid?: string;
  readonly cidr: string;
  readonly node: string;
  readonly phase: string;
  /** Who said that its old node does not use it. */
  readonly releasedBy?: string;
  /** Why it is not free, in the words of its condition. */
  readonly awaits?: string;
}

interface ObservedPod {
  readonly name: string;
  readonly node: string;
  readonly address: string;
  readonly isAnswering: boolean;
  readonly isSilent: boolean;
  /** In this step. */
  readonly pings: PingCount;
}

export interface Observation {
  /** By router: what its own command shows. A router that does not run is absent. */
  readonly routers: Readonly<Record<string, readonly HeldRoute[]>>;
  /** The register; while the API server is down, as it was last read. */
  readonly blocks: readonly ObservedBlock[];
  /** Prefixes of Services, which routers hold beside the blocks; absent: there is none. */
  readonly services?: readonly string[];
  readonly pods: readonly ObservedPod[];
  /** In this step, from the routers' kernels. */
  readonly routeEvents: readonly RouteEvent[];
  /** Node names by address. */
  readonly nodeOf: Readonly<Record<string, string>>;
  /** Traces that the step has taken: `a1-1 to b1-1`, and the addresses that answered. */
  readonly traces: Readonly<Record<string, readonly string[]>>;
  /** Who leads the operators. */
  readonly leader: string;
  /** Two nodes to which packets for one address went at one moment; absent: nobody looked. */
  readonly twoPlaces?: readonly string[];
  /** What was measured, by its name. */
  readonly figures: Readonly<Record<string, number>>;
  /** Anything else a step has found out. */
  readonly notes: Readonly<Record<string, string>>;
}

/** Undefined if it holds; otherwise what is wrong with it. */
type Judgement = string | undefined;

export interface Expectation {
  readonly what: string;
  judge(seen: Observation): Judgement;
}
