import { parseAddress } from '../../net/address.ts';
import { type Family, families } from '../../net/family.ts';
import { type Prefix, parsePrefix } from '../../net/prefix.ts';
import type { RouterRoute } from '../../plan/doctor/evidence.ts';

/**
 * A router's own dump, read into one form. Readers are strict about what they
 * do not understand: a file that ends in the middle, or that holds an error
 * message instead of a table, must not look like a router that holds nothing.
 */
export interface RibDump {
  /** The router's software, as its makers write it; `empty` where nothing shows it. */
  format: string;
  routes: RouterRoute[];
  /** Families the table was asked for, as far as the dump shows it. */
  families: Set<Family>;
  /** The router's own addresses that the dump names. */
  addresses: string[];
  /** Entries that are no unicast routes (EVPN, flowspec), passed over. */
  skipped: number;
}

export type ReadRib = { kind: 'rib'; rib: RibDump } | { kind: 'refused'; problem: string };

export const refusedRib = (problem: string): ReadRib => ({ kind: 'refused', problem });

/**
 * Prefixes and addresses as they are understood, each once: next hops repeat by
 * the thousand, and four routers hold the same blocks.
 */
export class PrefixInterner {
  readonly #prefixes = new Map<string, Prefix | undefined>();
  readonly #addresses = new Map<string, string>();

  prefix(text: string): Prefix | undefined {
    const known = this.#prefixes.get(text);
    if (known !== undefined || this.#prefixes.has(text)) return known;
    const prefix = parsePrefix(text);
    this.#prefixes.set(text, prefix);
    return prefix;
  }

  /** 0.0.0.0 and :: are how routers write "myself". */
  address(text: string): string {
    const known = this.#addresses.get(text);
    if (known !== undefined) return known;
    const zone = text.indexOf('%');
    const bare = zone < 0 ? text : text.slice(0, zone);
    const address = parseAddress(bare)?.toString() ?? bare;
    const canonical = address === '0.0.0.0' || address === '::' ? '' : address;
    this.#addresses.set(text, canonical);
    return canonical;
  }
}

export class RibDumpBuilder {
  readonly routes: RouterRoute[] = [];
  readonly families = new Set<Family>();
  skipped = 0;
  readonly #interner: PrefixInterner;

  constructor(interner: PrefixInterner) {
    this.#interner = interner;
  }

  /** What is no prefix is passed over, and counted. */
  add(prefixText: string, hop: string, isUsed: boolean, from?: string): void {
    const prefix = this.#interner.prefix(prefixText);
    if (prefix === undefined) {
      this.skipped++;
      return;
    }
    this.families.add(prefix.family);
    const nextHop = this.#interner.address(hop);
    this.routes.push(
      from === undefined
        ? { prefix, nextHop, isUsed }
        : { prefix, nextHop, isUsed, from: this.#interner.address(from) },
    );
  }

  dump(format: string, addresses: readonly string[] = [], asked: readonly Family[] = []): RibDump {
    const { routes, skipped } = this;
    const all = new Set(families.filter((one) => this.families.has(one) || asked.includes(one)));
    return { format, routes, families: all, addresses: [...addresses], skipped };
  }
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
