import { Address, parseAddress } from '../net/address.ts';
import { familyBits } from '../net/family.ts';
import { Prefix, parsePrefix } from '../net/prefix.ts';
import { type KubeObject, textList } from './object.ts';

/**
 * Addresses of load balancers as prefixes: nodes announce those by right. Here
 * for the pools of others; our own kinds have readers of their own.
 */
export function ciliumPoolNetworks({ spec }: KubeObject): Prefix[] {
  const { blocks, cidrs } = (spec ?? {}) as Record<string, unknown>;
  return [blocks, cidrs]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((one: { cidr?: unknown; start?: unknown; stop?: unknown } | null) => {
      const { cidr, start, stop } = one ?? {};
      if (typeof start === 'string') return networksOfText(`${start}-${stop ?? start}`);
      return textList(cidr).flatMap(networksOfText);
    });
}

export function metallbPoolNetworks({ spec }: KubeObject): Prefix[] {
  return textList((spec as Record<string, unknown> | undefined)?.addresses).flatMap(networksOfText);
}

export function networksOfRange({ first, last }: { first: string; last: string }): Prefix[] {
  return networksOfText(`${first}-${last}`);
}

/** A CIDR, a lone address, or `first-last`, which takes several prefixes. */
export function networksOfText(text: string): Prefix[] {
  const [first = '', last] = text.split('-').map((part) => part.trim());
  const whole = first.includes('/') ? parsePrefix(first) : undefined;
  if (whole !== undefined) return [whole];
  const start = parseAddress(first);
  const end = last === undefined ? start : parseAddress(last);
  if (start === undefined || end?.family !== start.family) return [];
  const bits = familyBits(start.family);
  const found: Prefix[] = [];
  let at = start.toBigInt();
  const stop = end.toBigInt();
  while (at <= stop) {
    let length = bits;
    while (length > 0) {
      const size = 1n << BigInt(bits - length + 1);
      if (at % size !== 0n || at + size - 1n > stop) break;
      length--;
    }
    found.push(Prefix.of(Address.fromBigInt(start.family, at), length));
    at += 1n << BigInt(bits - length);
  }
  return found;
}
