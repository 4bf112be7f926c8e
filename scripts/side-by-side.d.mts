import type { Suite } from './suites.d.mts';

export interface SideBySide {
  /** How many at a time. */
  places: number;
  /** No more is started. */
  isOver: () => boolean;
  /** Is never refused. */
  run: (suite: Suite) => Promise<void>;
}
/** Runs suites in their order, one that waits beside one that computes. */
export function runSideBySide(suites: readonly Suite[], options: SideBySide): Promise<void>;
