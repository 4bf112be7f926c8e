import type { Link } from '../../test/interop/link.ts';

/** Somebody who has a table and tells it to whoever connects. */
export interface Originator {
  readonly name: string;
  /** Gets its routes from a feeding session instead of from its configuration. */
  readonly isFed: boolean;
  /** Starts it in the router's namespace; resolves when it runs. */
  start(link: Link, folder: string, routes: number): Promise<{ count(): Promise<number> }>;
}

export const originatorAsn = 64524;
export const feederAsn = 64513;
export const sinkAddress = '10.88.0.3';

export function prefixAt(i: number): string {
  return `${20 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.0/24`;
}
