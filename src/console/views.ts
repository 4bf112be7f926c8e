/** The views, each with an address of its own. */
export const views = ['space', 'nodes', 'routes', 'consistency', 'events', 'try'] as const;
export type ViewName = (typeof views)[number];

export const viewTitles: Record<ViewName, string> = {
  space: 'Address space',
  nodes: 'Nodes',
  routes: 'Routes',
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
