import { addressOctets, formatWireAddress } from '../wire/address-text.ts';
import { afiIpv4, afiIpv6 } from '../wire/afi-safi.ts';

/**
 * One text for one address, so that a connection finds its peer: RFC 5952,
 * and an IPv4 address that a dual-stack socket shows as mapped is IPv4 again.
 * A zone (`fe80::1%eth0`) is kept. Undefined for what is no address.
 */
export function canonicalPeerAddress(address: string): string | undefined {
  const [plain = '', zone] = address.split('%');
  const bytes = addressOctets(plain);
  if (bytes === undefined) return undefined;
  if (bytes.length === 4) return formatWireAddress(bytes, 0, afiIpv4);
  const isMapped =
    bytes.subarray(0, 10).every((octet) => octet === 0) && bytes[10] === 255 && bytes[11] === 255;
  if (isMapped) return formatWireAddress(bytes, 12, afiIpv4);
  const text = formatWireAddress(bytes, 0, afiIpv6);
  return zone === undefined ? text : `${text}%${zone}`;
}
