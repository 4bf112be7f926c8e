import type { StoryRow } from './story-row.ts';

/** The story that `cadastre up` tells; changed by the actions of `TryIt`. */
export interface ConsoleStory {
  row(): StoryRow;
  /** Somebody looks: its sites are started, if they do not run yet. */
  wake(): void;
  onChange(listener: () => void): void;
  /** Pings are sent for those who look; asked before each. */
  watchedBy(readers: () => number): void;
}
