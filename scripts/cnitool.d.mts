/** The path of cnitool, built if need be; undefined without Go. */
export function ensureCnitool(): string | undefined;
