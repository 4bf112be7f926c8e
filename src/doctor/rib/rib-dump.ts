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
  /** Why the file is not the whole table; then nothing is concluded from what is not in it. */
  partial?: string;
  /** Other VRFs that the file holds and that were not read. */
  otherVrfs: string[];
}

export type ReadRib = { kind: 'rib'; rib: RibDump } | { kind: 'refused'; problem: string };

export const refusedRib = (problem: string): ReadRib => ({ kind: 'refused', problem });

/** How a reader stops at what it does not understand; `readRib` turns it into a refusal. */
export class DumpProblem extends Error {}

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

  /** 0.0.0.0 and :: are how routers write "myself"; the loopback addresses are the same. */
  address(text: string): string {
    const known = this.#addresses.get(text);
    if (known !== undefined) return known;
    const zone = text.indexOf('%');
    const bare = zone < 0 ? text : text.slice(0, zone);
    const address = parseAddress(bare)?.toString() ?? bare;
    const canonical = ownAddresses.has(address) ? '' : address;
    this.#addresses.set(text, canonical);
    return canonical;
  }
}

const ownAddresses: ReadonlySet<string> = new Set(['0.0.0.0', '::', '127.0.0.1', '::1']);

/** What a dump says of a path beside its prefix, next hop and use. */
export interface PathDetail {
  from?: string | undefined;
  protocol?: string | undefined;
  asPath?: string | undefined;
}

interface VrfTable {
  routes: RouterRoute[];
  families: Set<Family>;
}

/** The tables of one dump, one for each VRF; the wanted one is the result. */
export class RibDumpBuilder {
  skipped = 0;
  readonly addresses = new Set<string>();
  readonly #interner: PrefixInterner;
  readonly #tables = new Map<string, VrfTable>();
  #table: VrfTable | undefined;
  #partial: string | undefined;

  constructor(interner: PrefixInterner = new PrefixInterner()) {
    this.#interner = interner;
  }

  /** Routes that follow are of this VRF. A table without routes is a table too. */
  vrf(name: string, asked?: Family): void {
    const key = defaultNames.has(name.toLowerCase()) ? '' : name;
    this.#table = this.#tables.get(key);
    if (this.#table === undefined) {
      this.#table = { routes: [], families: new Set() };
      this.#tables.set(key, this.#table);
    }
    if (asked !== undefined) this.#table.families.add(asked);
  }

  get routeCount(): number {
    return [...this.#tables.values()].reduce((sum, { routes }) => sum + routes.length, 0);
  }

  isPrefix(text: string): boolean {
    return this.#interner.prefix(text) !== undefined;
  }

  /** What is no prefix is passed over, and counted. */
  add(prefixText: string, hop: string, isUsed: boolean, detail: PathDetail = {}): void {
    if (this.#table === undefined) this.vrf('');
    const table = this.#table!;
    const prefix = this.#interner.prefix(prefixText);
    if (prefix === undefined) {
      this.skipped++;
      return;
    }
    table.families.add(prefix.family);
    const route: RouterRoute = { prefix, nextHop: this.#interner.address(hop), isUsed };
    const { from, protocol, asPath } = detail;
    if (from !== undefined && from !== '') route.from = this.#interner.address(from);
    if (protocol !== undefined) route.protocol = protocol;
    if (asPath !== undefined) route.asPath = asPath;
    table.routes.push(route);
  }

  /** The first reason is the one that is told. */
  isPart(why: string): void {
    this.#partial ??= why;
  }

  finish(format: string, wantedVrf?: string): ReadRib {
    const names = [...this.#tables.keys()];
    const shown = names.map((name) => name || 'default');
    let chosen: string | undefined;
    if (wantedVrf !== undefined) {
      const wanted = defaultNames.has(wantedVrf.toLowerCase()) ? '' : wantedVrf;
      chosen = names.find((name) => name === wanted);
      if (chosen === undefined) {
        return refusedRib(
          `it holds no VRF ${wantedVrf}, but ${shown.join(', ') || 'none by name'}`,
        );
      }
    } else chosen = names.includes('') || names.length === 0 ? '' : names[0]!;
    if (wantedVrf === undefined && chosen !== '' && names.length > 1) {
      return refusedRib(
        `it holds the VRFs ${shown.join(', ')}, and not the default one; name one with --rib-vrf`,
      );
    }
    const table = this.#tables.get(chosen) ?? { routes: [], families: new Set<Family>() };
    return {
      kind: 'rib',
      rib: {
        format,
        routes: table.routes,
        families: new Set(families.filter((one) => table.families.has(one))),
        // The networks of VRP and Comware that every router has are nobody's address.
        addresses: [...this.addresses].filter((one) => !/^(?:0|127|255)\./.test(one)),
        skipped: this.skipped,
        otherVrfs: shown.filter((_, at) => names[at] !== chosen),
        ...(this.#partial === undefined ? {} : { partial: this.#partial }),
      },
    };
  }
}

/** What vendors call the table that is no VRF's. */
const defaultNames: ReadonlySet<string> = new Set(['', 'default', 'global', 'public', '_public_']);

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
