import type { Stage } from './stage.ts';

/** Of the whole story: pings to pods of nodes that nothing was done to. */
export function measureLosses(stage: Stage, disturbed: readonly string[]): void {
  stage.figures['pings lost by others'] = stage
    .totals()
    .filter(({ node }) => !disturbed.includes(node))
    .reduce((sum, { lost }) => sum + lost, 0);
}
