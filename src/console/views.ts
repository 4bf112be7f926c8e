/** The views, each with an address of its own. */
export const views = ['space', 'nodes', 'routes', 'truth', 'time', 'try'] as const;
export type ViewName = (typeof views)[number];
