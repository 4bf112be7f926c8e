/**
 * The incident, as the page shows it: two sites, what their routers and kernels hold at
 * this moment, and which way a ping takes there. Made in `cadastre up` alone.
 */
export interface StoryRow {
  /** What is being done, or has failed; empty: nothing of the kind. */
  trouble: string;
  /** `asleep`: nobody has looked yet, and no site of the story runs. */
  state: 'asleep' | 'starting' | 'ready' | 'acting';
  isPlaying: boolean;
  /** Which step was done last. */
  at: number;
  steps: StoryStepRow[];
  sites: StorySiteRow[];
}

export interface StoryStepRow {
  /** A word or two, for the row of steps. */
  name: string;
  title: string;
  /** What one sees at each site, in the order of `sites`. */
  captions: string[];
}

export interface StorySiteRow {
  /** Left as it was, right with Cadastre. */
  id: 'left' | 'right';
  title: string;
  about: string;
  nodes: StoryNodeRow[];
  routers: StoryRouterRow[];
  pings: StoryPingRow[];
  /** What the comparison says of this site, most serious first. */
  findings: Array<{ reason: string; severity: string; count: number; nodes: string[] }>;
  /** Whose pods would lose the network if the node of the story were drained now; null: not asked. */
  wouldLose: string[] | null;
  /** What the lab's replay expects of this step, and whether it is so. */
  expected: Array<{ what: string; isSo: boolean; why: string }>;
}

export interface StoryNodeRow {
  name: string;
  address: string;
  /** What its pods use. */
  block: string;
  /** Node.spec.podCIDRs. */
  spec: string;
  /** `unknown`: nobody has looked yet; `gone`: its Node is deleted. */
  state: 'unknown' | 'serving' | 'drained' | 'gone';
}

export interface StoryRouterRow {
  name: string;
  address: string;
  asn: number;
  /** Nodes whose session is established. */
  sessions: string[];
  routes: Array<{ prefix: string; nextHop: string; node: string; owner: string }>;
}

/** The pings that reach a pod through one router, and how many of this step were lost. */
export interface StoryPingRow {
  pod: string;
  node: string;
  address: string;
  router: string;
  /** Machines in turn. */
  hops: string[];
  way: 'straight' | 'detour' | 'lost';
  why: string;
  sent: number;
  lost: number;
}
