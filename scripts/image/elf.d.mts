/** The libraries that a program or library loads, by name, and its loader, by path. */
export function readElf(path: string): { needed: string[]; loader: string | undefined };
