import type { Address } from './address.ts';
import { type Prefix, parsePrefix } from './prefix.ts';

/**
 * Ranges in which no pod and no Service can have an address: a kernel or a router
 * does not forward to them. 240.0.0.0/4 is not among them: Linux forwards it, and there
 * are clusters with pods in it. ::/16 (with ::1) is refused by blocks' names already.
 */
export const specialRanges: ReadonlyArray<{ cidr: string; what: string }> = [
  { cidr: '0.0.0.0/8', what: '"this network", RFC 1122' },
  { cidr: '127.0.0.0/8', what: 'loopback, RFC 1122' },
  { cidr: '169.254.0.0/16', what: 'link-local, RFC 3927' },
  { cidr: '224.0.0.0/4', what: 'multicast, RFC 5771' },
  { cidr: '255.255.255.255/32', what: 'broadcast, RFC 919' },
  { cidr: 'fe80::/10', what: 'link-local, RFC 4291' },
  { cidr: 'ff00::/8', what: 'multicast, RFC 4291' },
];

const parsed = specialRanges.map(({ cidr, what }) => ({ prefix: parsePrefix(cidr)!, what }));

/** Why pods cannot have addresses of a network; undefined: they can. */
export function specialRangeProblem(network: Prefix): string | undefined {
  return specialProblem(network.toString(), network.first(), network.last());
}

/** The same for all addresses from one to another, as `text` names them. */
export function specialProblem(text: string, first: Address, last: Address): string | undefined {
  const found = parsed.find(
    ({ prefix }) =>
      prefix.family === first.family &&
      prefix.first().compare(last) <= 0 &&
      first.compare(prefix.last()) <= 0,
  );
  if (found === undefined) return undefined;
  return `${text} overlaps ${found.prefix} (${found.what}), which is not for pods or Services`;
}

/** The same as a CEL expression about a CIDR in a variable. */
export function overlapsSpecialRange(variable: string): string {
  const list = specialRanges.map(({ cidr }) => `'${cidr}'`).join(', ');
  return `[${list}].exists(s, cidr(s).containsCIDR(${variable}) || cidr(${variable}).containsCIDR(s))`;
}
