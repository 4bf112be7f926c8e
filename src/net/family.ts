/** The two address families, spelled as in every user-visible field. */
export type Family = 'ipv4' | 'ipv6';

export const families: readonly Family[] = ['ipv4', 'ipv6'];

/** Number of bits in an address of the family. */
export function familyBits(family: Family): 32 | 128 {
  return family === 'ipv4' ? 32 : 128;
}
