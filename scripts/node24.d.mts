export const measuredNode: string;
/** The path of a Node 24; of the running Node, and a word about it, where there is none. */
export function ensureNode24(): Promise<string>;
