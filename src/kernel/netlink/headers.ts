/**
 * The structs between a netlink header and the attributes, one for each kind of
 * object. Numbers from linux/rtnetlink.h, if_addr.h, neighbour.h.
 */
import type { Family } from '../../net/family.ts';
import { AF_UNSPEC, familyNumber, type NetlinkWriter } from './attributes.ts';

/** Where the attributes begin. */
export const headerLengths = { link: 16, address: 8, route: 12, neighbour: 12 } as const;

export const RT_SCOPE_UNIVERSE = 0;
export const RT_SCOPE_LINK = 253;
export const RT_SCOPE_HOST = 254;
export const RT_SCOPE_NOWHERE = 255;

/** An interface: its number for the kernel, its name for people. */
export type LinkRef = { index: number; name: string };

/** struct ifinfomsg: family, type, index, flags, which flags count. */
export function linkHeader(
  writer: NetlinkWriter,
  index: number,
  flags = 0,
  change = 0,
): NetlinkWriter {
  return writer.u8(AF_UNSPEC).u8(0).u16(0).u32(index).u32(flags).u32(change);
}

/** struct ifaddrmsg. */
export function addressHeader(
  writer: NetlinkWriter,
  header: { family?: Family; length?: number; flags?: number; scope?: number; index?: number },
): NetlinkWriter {
  const { family, length = 0, flags = 0, scope = RT_SCOPE_UNIVERSE, index = 0 } = header;
  return writer.u8(numberOf(family)).u8(length).u8(flags).u8(scope).u32(index);
}

/** struct ndmsg. The family may be that of bridges, which is none of ours. */
export function neighbourHeader(
  writer: NetlinkWriter,
  header: { family?: Family | number; index?: number; state?: number; flags?: number },
): NetlinkWriter {
  const { family, index = 0, state = 0, flags = 0 } = header;
  const number = typeof family === 'number' ? family : numberOf(family);
  return writer.u8(number).u8(0).u16(0).u32(index).u16(state).u8(flags).u8(0);
}

/** struct rtmsg, without source and TOS. A table past 255 stands in an attribute alone. */
export function routeHeader(
  writer: NetlinkWriter,
  header: {
    family: Family;
    length?: number;
    table?: number;
    protocol?: number | undefined;
    scope?: number;
    type?: number;
    flags?: number;
  },
): NetlinkWriter {
  const { family, length = 0, table = 0, protocol = 0, scope = 0, type = 0, flags = 0 } = header;
  writer.u8(familyNumber(family)).u8(length).u8(0).u8(0);
  writer.u8(table < 256 ? table : 0).u8(protocol);
  return writer.u8(scope).u8(type).u32(flags);
}

const numberOf = (family: Family | undefined) =>
  family === undefined ? AF_UNSPEC : familyNumber(family);
