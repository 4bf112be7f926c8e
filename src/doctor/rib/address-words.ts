/** Addresses, prefixes and next hops as routers write them in text. */
import { parseAddress } from '../../net/address.ts';
import { parsePrefix } from '../../net/prefix.ts';

export const isAddress = (text: string): boolean => parseAddress(text) !== undefined;
export const isPrefixText = (text: string): boolean => parsePrefix(text) !== undefined;

/**
 * An IPv4 network without a length has that of its class: IOS, older FRR and VRP leave it out
 * (10.0.0.0 is 10.0.0.0/8). Classes D and E have none.
 */
export function classfulPrefix(address: string): string | undefined {
  if (address.includes(':')) return undefined;
  if (address === '0.0.0.0') return '0.0.0.0/0';
  const first = Number(address.split('.')[0]);
  if (first < 128) return `${address}/8`;
  if (first < 192) return `${address}/16`;
  return first < 224 ? `${address}/24` : undefined;
}

/** `10.1.1.1,`, `10.1.1.1%management`, `10.1.1.1@4<`, `10.1.1.1/32`, `fe80::1(leaf1)`: the address. */
export function bareHop(token: string): string {
  return token.replace(/[,;]+$/, '').replace(/(?:[@%(/]).*$/, '');
}
