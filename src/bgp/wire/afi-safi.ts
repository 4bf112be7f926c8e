import type { Family } from '../../net/family.ts';

/** Address families as numbers on the wire (IANA; RFC 4760 §5). */
export interface AfiSafi {
  readonly afi: number;
  readonly safi: number;
}

export const afiIpv4 = 1;
export const afiIpv6 = 2;
const safiUnicast = 1;

export type UnicastAfi = typeof afiIpv4 | typeof afiIpv6;

export const ipv4Unicast: AfiSafi = { afi: afiIpv4, safi: safiUnicast };
export const ipv6Unicast: AfiSafi = { afi: afiIpv6, safi: safiUnicast };

export function unicastOf(family: Family): AfiSafi {
  return family === 'ipv4' ? ipv4Unicast : ipv6Unicast;
}

/** Undefined: not one whose NLRI we read. */
export function familyOf({ afi, safi }: AfiSafi): Family | undefined {
  if (!isUnicast(afi, safi)) return undefined;
  return afi === afiIpv4 ? 'ipv4' : 'ipv6';
}

export function sameFamily(a: AfiSafi, b: AfiSafi): boolean {
  return a.afi === b.afi && a.safi === b.safi;
}

/** The families whose NLRI we read; all others are carried as bytes. */
export function isUnicast(afi: number, safi: number): afi is UnicastAfi {
  return safi === safiUnicast && (afi === afiIpv4 || afi === afiIpv6);
}
