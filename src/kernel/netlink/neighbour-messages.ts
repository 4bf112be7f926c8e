/** RTM_*NEIGH: neighbours of IP, and the FDB of a VXLAN device. Numbers from linux/neighbour.h. */
import type { ForwardingEntry, LinkNeighbour } from '../link.ts';
import { AF_BRIDGE, macBytes, macText } from './attributes.ts';
import { headerLengths, type LinkRef, neighbourHeader } from './headers.ts';
import {
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_DUMP,
  NLM_F_REPLACE,
  type Request,
  request,
} from './message.ts';

const RTM_NEWNEIGH = 28;
const RTM_DELNEIGH = 29;
const RTM_GETNEIGH = 30;

const NDA_DST = 1;
const NDA_LLADDR = 2;
const NDA_IFINDEX = 8;
const NUD_PERMANENT = 0x80;
const NUD_NOARP = 0x40;
const NTF_SELF = 0x02;

export function setNeighbour(link: LinkRef, { address, mac }: LinkNeighbour): Request {
  const what = `name ${mac} as the neighbour ${address} on ${link.name}`;
  return request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, what, (writer) => {
    neighbourHeader(writer, { family: address.family, index: link.index, state: NUD_PERMANENT })
      .attrAddress(NDA_DST, address)
      .attr(NDA_LLADDR, macBytes(mac));
  });
}

export function removeNeighbour(link: LinkRef, { address }: LinkNeighbour): Request {
  return request(RTM_DELNEIGH, 0, `forget the neighbour ${address} on ${link.name}`, (writer) => {
    neighbourHeader(writer, { family: address.family, index: link.index }).attrAddress(
      NDA_DST,
      address,
    );
  });
}

/** Neighbours of both families. */
export function listNeighbours(link: LinkRef): Request {
  return request(RTM_GETNEIGH, NLM_F_DUMP, `list the neighbours on ${link.name}`, (writer) => {
    neighbourHeader(writer, {}).attrU32(NDA_IFINDEX, link.index);
  });
}

/** The permanent neighbour in it; what the kernel learned by itself comes and goes. */
export function readNeighbour({ body }: NetlinkMessage, link: LinkRef): LinkNeighbour | undefined {
  if (body.u32(4) !== link.index || (body.u16(8) & NUD_PERMANENT) === 0) return undefined;
  const attrs = body.attrs(headerLengths.neighbour);
  const address = attrs.get(NDA_DST)?.address();
  const mac = attrs.get(NDA_LLADDR)?.bytes;
  return address && mac ? { address, mac: macText(mac) } : undefined;
}

export function setForwardingEntry(link: LinkRef, entry: ForwardingEntry): Request {
  const what = `send ${entry.mac} to ${entry.remote} on ${link.name}`;
  return request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, what, (writer) => {
    const state = NUD_PERMANENT | NUD_NOARP;
    neighbourHeader(writer, { family: AF_BRIDGE, index: link.index, state, flags: NTF_SELF });
    writer.attr(NDA_LLADDR, macBytes(entry.mac)).attrAddress(NDA_DST, entry.remote);
  });
}

export function removeForwardingEntry(link: LinkRef, entry: ForwardingEntry): Request {
  const what = `send ${entry.mac} nowhere on ${link.name}`;
  return request(RTM_DELNEIGH, 0, what, (writer) => {
    neighbourHeader(writer, { family: AF_BRIDGE, index: link.index, flags: NTF_SELF });
    writer.attr(NDA_LLADDR, macBytes(entry.mac)).attrAddress(NDA_DST, entry.remote);
  });
}

export function listForwardingEntries(link: LinkRef): Request {
  return request(RTM_GETNEIGH, NLM_F_DUMP, `list the FDB of ${link.name}`, (writer) => {
    // A strict dump of the bridge family names its device in the header.
    neighbourHeader(writer, { family: AF_BRIDGE, index: link.index });
  });
}

export function readForwardingEntry(
  { body }: NetlinkMessage,
  link: LinkRef,
): ForwardingEntry | undefined {
  if (body.u32(4) !== link.index) return undefined;
  const attrs = body.attrs(headerLengths.neighbour);
  const remote = attrs.get(NDA_DST)?.address();
  const mac = attrs.get(NDA_LLADDR)?.bytes;
  return remote && mac ? { mac: macText(mac), remote } : undefined;
}
