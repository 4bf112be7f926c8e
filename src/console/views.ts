/** The views, each with an address of its own. */
export const views = [
  'incident',
  'pools',
  'nodes',
  'routes',
  'map',
  'truth',
  'time',
  'try',
] as const;
export type ViewName = (typeof views)[number];
