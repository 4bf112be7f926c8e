import type { Expectation } from './observation.ts';
import type { Stage } from './stage.ts';

/** One thing that happens, and what must follow. */
export interface Step {
  readonly title: string;
  act(stage: Stage): Promise<void>;
  /** Waited for: how long it takes is the step's time to convergence. */
  readonly until?: readonly Expectation[];
  /** Afterwards: numbers of this step, for the end of the report (`stage.figures`). */
  measure?(stage: Stage): Promise<void> | void;
  /** Judged once, after that. */
  readonly after?: readonly Expectation[];
}

export interface Story {
  readonly name: string;
  readonly about: string;
  readonly topology: string;
  readonly steps: readonly Step[];
  /** Brings the lab back to where it was, for the next story. */
  restore?(stage: Stage): Promise<void>;
}
