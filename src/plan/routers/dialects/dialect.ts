import type { Family } from '../../../net/family.ts';
import type { PrefixFilter } from '../prefix-filters.ts';
import { isExact, type NeighbourGroup, type RouterSide } from '../router-side.ts';

/** How one maker's routers are configured. */
export interface Dialect {
  /** What `--for` calls it. */
  name: string;
  title: string;
  /** What begins a line that the router passes over. */
  comment: string;
  /** Whether our tests run the output on the router itself. */
  isRun: boolean;
  /** How a person puts it in. */
  howTo: string;
  print(side: RouterSide): string[];
}

/** The head of the file, which says what it is and whether anybody ran it, and the rest. */
export function printRouterSide(dialect: Dialect, side: RouterSide): string {
  const { comment, title, isRun, howTo } = dialect;
  const nodes = side.groups.flatMap(({ neighbours }) => neighbours).length;
  const head = [
    `${title}: ${side.router}, AS ${side.asn}, ${nodes} sessions with nodes`,
    'Made by cadastre router-config. It accepts exactly the prefixes that nodes announce by right,',
    'ends a session that sends too many, and tells nodes nothing.',
    howTo,
    ...(isRun
      ? []
      : [
          'Not run on a router of this maker: written after public documentation. Read it before use.',
        ]),
    ...side.groups
      .filter(({ hasPassword }) => hasPassword)
      .map(({ name }) => `The nodes have a TCP-MD5 password for ${name}: set the same one here.`),
    ...side.notes.map((note) => `Note: ${note}.`),
  ];
  return `${[...head.map((line) => `${comment} ${line}`), ...dialect.print(side)].join('\n')}\n`;
}

export const listName = (family: Family) => `CADASTRE-${family.toUpperCase()}`;
export const routeMapIn = (family: Family) => `CADASTRE-IN-${family.toUpperCase()}`;
export const routeMapOut = 'CADASTRE-OUT';

/** Percent of the limit at which the router warns, and minutes until it lets the session come back. */
export const limitPolicy = { warnPercent: 80, restartMinutes: 5 } as const;

/** The families that any session carries. */
export function familiesOf({ groups }: RouterSide): Family[] {
  return (['ipv4', 'ipv6'] as const).filter((family) =>
    groups.some((group) => group.families.includes(family)),
  );
}

/** ` ge 24 le 24` behind a prefix: FRR, IOS. */
export function geLe(filter: PrefixFilter): string {
  return isExact(filter) ? '' : ` ge ${filter.minLength} le ${filter.maxLength}`;
}

/** ` eq 24`, or a range: EOS, NX-OS. */
export function eqOrRange(filter: PrefixFilter): string {
  if (isExact(filter)) return '';
  return filter.minLength === filter.maxLength ? ` eq ${filter.minLength}` : geLe(filter);
}

/**
 * The entries of a prefix list. One that does not exist lets everything pass on some routers, so
 * a family without any prefix of ours gets one that lets nothing pass.
 */
export function listEntries(
  { filters }: RouterSide,
  family: Family,
  bounds: (filter: PrefixFilter) => string,
): string[] {
  const entries = filters[family].map((filter) => `permit ${filter.prefix}${bounds(filter)}`);
  if (entries.length > 0) return entries;
  return [family === 'ipv4' ? 'deny 0.0.0.0/0 le 32' : 'deny ::/0 le 128'];
}

/** Entries are ten apart, so that a person can put one in between. */
export const sequence = (at: number) => (at + 1) * 10;

export const hasNeighbours = ({ neighbours, listenRange }: NeighbourGroup) =>
  listenRange !== undefined || neighbours.length > 0;
