import { parseAddressText } from '../wire/address-text.ts';

interface Speaker {
  routerId: string;
  asn: number;
}

/**
 * RFC 4271 §6.8 and RFC 6286 §2.3: of two connections the one opened by the
 * speaker with the higher identifier stays, compared as unsigned numbers; equal
 * identifiers (possible between two ASes) are decided by the higher AS.
 */
export function keepsFirst(a: Speaker, b: Speaker): boolean {
  const idA = identifier(a.routerId);
  const idB = identifier(b.routerId);
  return idA === idB ? a.asn > b.asn : idA > idB;
}

function identifier(routerId: string): number {
  return (parseAddressText(routerId)?.w0 ?? 0) >>> 0;
}
