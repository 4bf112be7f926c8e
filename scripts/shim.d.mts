/** The path of the static CNI plugin, built if need be; undefined without a compiler. */
export function ensureShim(arch?: string): string | undefined;

/** The same with the compiler's sanitizers, for tests; undefined where there are none. */
export function ensureSanitizedShim(): string | undefined;
