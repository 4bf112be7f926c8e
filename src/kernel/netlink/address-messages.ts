/** RTM_*ADDR: addresses on interfaces. Numbers from linux/if_addr.h. */
import { Address } from '../../net/address.ts';
import { isLinkLocal, type LinkAddress } from '../link.ts';
import type { NetlinkWriter } from './attributes.ts';
import {
  addressHeader,
  headerLengths,
  type LinkRef,
  RT_SCOPE_HOST,
  RT_SCOPE_LINK,
  RT_SCOPE_UNIVERSE,
} from './headers.ts';
import {
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_DUMP,
  NLM_F_REPLACE,
  type Request,
  request,
} from './message.ts';

export const RTM_NEWADDR = 20;
export const RTM_DELADDR = 21;
const RTM_GETADDR = 22;

const IFA_ADDRESS = 1;
const IFA_LOCAL = 2;
const IFA_F_NODAD = 0x02;

/** An address as the kernel reports it, with the interface that carries it. */
interface HeldAddress extends LinkAddress {
  linkIndex: number;
}

export function addAddress(link: LinkRef, address: LinkAddress): Request {
  const what = `give ${address.address}/${address.length} to ${link.name}`;
  return request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, what, (writer) => {
    // Nobody else has it: the register says so. Detection would hold it back for a second.
    addressBody(writer, link, address, IFA_F_NODAD);
  });
}

export function removeAddress(link: LinkRef, address: LinkAddress): Request {
  const what = `take ${address.address}/${address.length} from ${link.name}`;
  return request(RTM_DELADDR, 0, what, (writer) => addressBody(writer, link, address, 0));
}

function addressBody(writer: NetlinkWriter, link: LinkRef, held: LinkAddress, flags: number): void {
  const { address, length } = held;
  const { family } = address;
  addressHeader(writer, { family, length, flags, scope: scopeOf(held), index: link.index })
    .attrAddress(IFA_LOCAL, address)
    .attrAddress(IFA_ADDRESS, address);
}

/** IPv6 works it out by itself. */
function scopeOf({ address, isNeverSource }: LinkAddress): number {
  if (isLinkLocal(address)) return RT_SCOPE_LINK;
  return isNeverSource && address.family === 'ipv4' ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
}

export function listAddresses(): Request {
  return request(RTM_GETADDR, NLM_F_DUMP, 'list the addresses', (writer) => {
    addressHeader(writer, {});
  });
}

export function readAddress({ body }: NetlinkMessage): HeldAddress | undefined {
  const attrs = body.attrs(headerLengths.address);
  // On a point-to-point link IFA_ADDRESS is the other side's.
  const address = (attrs.get(IFA_LOCAL) ?? attrs.get(IFA_ADDRESS))?.address();
  if (!(address instanceof Address)) return undefined;
  return { address, length: body.u8(1), linkIndex: body.u32(4) };
}
