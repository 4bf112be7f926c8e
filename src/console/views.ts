/** The views, each with an address of its own. */
export const views = [
  'incident',
  'space',
  'nodes',
  'routes',
  'map',
  'consistency',
  'events',
  'try',
] as const;
export type ViewName = (typeof views)[number];

export const viewTitles: Record<ViewName, string> = {
  incident: 'Incident',
  space: 'Address space',
  nodes: 'Nodes',
  routes: 'Routes',
  map: 'Map',
  consistency: 'Consistency',
  events: 'Events',
  try: 'Try it',
};

/** Addresses that views had before, which people have kept in tickets and bookmarks. */
export const formerViews: Readonly<Record<string, ViewName>> = {
  pools: 'space',
  truth: 'consistency',
  time: 'events',
};
