import type { SubjectKind } from '../plan/find/subject.ts';

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

/** Pages of their own for what one can look for, by kind; a node's is the view of nodes. */
export const subjectPages: Readonly<Record<SubjectKind, string>> = {
  node: 'nodes',
  pool: 'pools',
  block: 'blocks',
  router: 'routers',
  service: 'services',
  pod: 'pods',
  address: 'addresses',
  prefix: 'prefixes',
};

/** Addresses that views had before, which people have kept in tickets and bookmarks. */
export const formerViews: Readonly<Record<string, ViewName>> = {
  pools: 'space',
  truth: 'consistency',
  time: 'events',
};
