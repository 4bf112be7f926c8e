import { type Address, parseAddress } from '../../net/address.ts';
import { type Family, familyBits } from '../../net/family.ts';
import { parsePrefix } from '../../net/prefix.ts';
import type { Span } from '../../net/span-list.ts';
import { specialProblem } from '../../net/special-ranges.ts';

/** The addresses of one line of a pool, both ends included. */
export interface AddressRange {
  readonly family: Family;
  readonly first: string;
  readonly last: string;
  /** As it was written. */
  readonly text: string;
}

/** From a CIDR or from `first-last`; a string says what is wrong with the text. */
export function parseAddressRange(text: string): AddressRange | string {
  const dash = text.indexOf('-');
  if (dash < 0) {
    const prefix = parsePrefix(text.trim());
    if (prefix === undefined) return `"${text}" is neither a CIDR nor a range of addresses`;
    return range(text, prefix.first(), prefix.last());
  }
  const first = parseAddress(text.slice(0, dash).trim());
  const last = parseAddress(text.slice(dash + 1).trim());
  if (first === undefined || last === undefined) {
    return `"${text}" is not a range such as 192.0.2.10-192.0.2.20`;
  }
  if (first.family !== last.family) return `"${text}" begins and ends in different families`;
  if (first.compare(last) > 0) return `"${text}" ends before it begins`;
  return range(text, first, last);
}

function range(text: string, first: Address, last: Address): AddressRange | string {
  const special = specialProblem(`"${text}"`, first, last);
  if (special !== undefined) return special;
  return { family: first.family, first: first.toString(), last: last.toString(), text };
}

const ends = ({ first, last }: AddressRange) =>
  [parseAddress(first)!.toBigInt(), parseAddress(last)!.toBigInt()] as const;

/** With its ends as numbers, which is what searching takes. */
export function spanOf(given: AddressRange): Span {
  const [first, last] = ends(given);
  return { family: given.family, first, last, text: given.text };
}

/** The prefix length of the largest block that lies whole inside the range. */
export function largestBlockLength(given: AddressRange): number {
  const bits = familyBits(given.family);
  const [first, last] = ends(given);
  for (let length = 0; length < bits; length++) {
    const size = 1n << BigInt(bits - length);
    const aligned = ((first + size - 1n) / size) * size;
    if (aligned + size - 1n <= last) return length;
  }
  return bits;
}
