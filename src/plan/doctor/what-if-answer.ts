import type { Reason } from '../../model/reasons.ts';

/** The answer to "what if". */
export interface WhatIf {
  apiVersion: string;
  kind: 'WhatIf';
  action: string;
  safe: boolean;
  /** Whose pods, or which Services, would lose the network. */
  loses: Loss[];
  /** What changes without anybody losing it: a route goes with its node, a block is newly cut. */
  moves: RouteMove[];
  /** What would not be done, or for whom, and why. */
  refused: Denial[];
}

export interface Loss {
  node: string;
  prefix: string;
  /** An address of a Service, not a block. */
  isService?: true;
  why: string;
  /** Ways that would be left, or what to do before; empty: none. */
  alternatives: string[];
}

export interface RouteMove {
  node: string;
  prefix: string;
  from: string;
  to: string;
  why: string;
}

export interface Denial {
  node: string | null;
  prefix: string | null;
  reason: Reason;
  detail: string;
}

export type WhatIfAnswer =
  | { kind: 'answer'; whatIf: WhatIf }
  /** The question cannot be answered from this evidence, and why. */
  | { kind: 'unknown'; why: string };

/** The changes that an action brings, route by route. */
export type ChangesAnswer =
  | ({ kind: 'changes' } & Pick<WhatIf, 'loses' | 'moves' | 'refused'>)
  | { kind: 'unknown'; why: string };
