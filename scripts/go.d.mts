export interface Go {
  program: string;
  version: string;
  env: NodeJS.ProcessEnv;
}
/** The Go in PATH if it is new enough, else the pinned one, fetched if need be. */
export function ensureGo(): Promise<Go>;
/** Which Go ensureGo() gives, without fetching it. */
export function goVersion(): string;
/** The folder of a pinned toolchain, by version and the sum of its archive for each platform. */
export function ensureToolchain(toolchain: {
  version: string;
  sums: Record<string, string>;
}): Promise<string>;
