/** Why they cannot be had, if so. */
export function ensureDebianPackages(packages: string[]): Promise<string | undefined>;
