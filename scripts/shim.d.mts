/** The path of the static CNI plugin, built if need be; undefined without a compiler. */
export function ensureShim(): string | undefined;
