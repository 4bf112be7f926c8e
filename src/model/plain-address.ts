import { type Address, parseAddress } from '../net/address.ts';

/** `::ffff:10.0.0.1`, IPv4 mapped into IPv6: Kubernetes refuses it wherever it checks addresses. */
export const isMapped = (canonical: string) => canonical.includes(':') && canonical.includes('.');

/** What `isIP` of CEL takes for an address. */
export function parsePlainAddress(text: string): Address | undefined {
  const address = parseAddress(text);
  return isMapped(`${address}`) ? undefined : address;
}
