/** The views, each with an address of its own. */
export const views = ['pools', 'nodes', 'routes', 'truth', 'time', 'try'] as const;
export type ViewName = (typeof views)[number];
