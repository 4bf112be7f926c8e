/** RTM_*LINK: interfaces. Numbers from linux/if_link.h, if_arp.h, if.h. */
import type { Address } from '../../net/address.ts';
import {
  type Link,
  type LinkChange,
  type TunnelSettings,
  type TunnelSpec,
  tunnelPorts,
  type VethSpec,
} from '../link.ts';
import {
  AF_INET6,
  macBytes,
  macText,
  type NetlinkReader,
  type NetlinkWriter,
} from './attributes.ts';
import { headerLengths, type LinkRef, linkHeader } from './headers.ts';
import {
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_DUMP,
  NLM_F_EXCL,
  type Request,
  request,
} from './message.ts';

export const RTM_NEWLINK = 16;
export const RTM_DELLINK = 17;
const RTM_GETLINK = 18;
const RTM_SETLINK = 19;

const IFF_UP = 0x1;
const IFF_LOWER_UP = 0x10000;

const IFLA_ADDRESS = 1;
const IFLA_IFNAME = 3;
const IFLA_MTU = 4;
const IFLA_LINK = 5;
const IFLA_LINKINFO = 18;
const IFLA_IFALIAS = 20;
const IFLA_AF_SPEC = 26;
const IFLA_GROUP = 27;
const IFLA_NET_NS_FD = 28;
const IFLA_INFO_KIND = 1;
const IFLA_INFO_DATA = 2;
const VETH_INFO_PEER = 1;
const IFLA_INET6_ADDR_GEN_MODE = 8;
const IN6_ADDR_GEN_MODE_NONE = 1;

const vxlan = {
  ID: 1,
  LOCAL: 4,
  LEARNING: 7,
  PORT: 15,
  LOCAL6: 17,
  COLLECT_METADATA: 25,
};
const geneve = { ID: 1, PORT: 5, COLLECT_METADATA: 6 };

/** IFALIASZ without the end. */
const maxAliasBytes = 255;

export function getLink(name: string): Request {
  return request(RTM_GETLINK, 0, `look for the interface ${name}`, (writer) => {
    linkHeader(writer, 0).attrText(IFLA_IFNAME, name);
  });
}

export function listLinks(): Request {
  return request(RTM_GETLINK, NLM_F_DUMP, 'list the interfaces', (writer) => {
    linkHeader(writer, 0);
  });
}

/** Both ends are born down: a veth cannot be up before its other end is there (ENOTCONN). */
export function newVeth(spec: VethSpec, peerNamespaceFd: number | undefined): Request {
  const what = `create the interface ${spec.name} with its other end ${spec.peerName}`;
  return request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, what, (writer) => {
    linkHeader(writer, 0);
    nameAndFrame(writer, spec.name, spec.mtu, spec.mac);
    writer.nest(IFLA_LINKINFO, (info) => {
      info.attrText(IFLA_INFO_KIND, 'veth').nest(IFLA_INFO_DATA, (data) => {
        data.nest(VETH_INFO_PEER, (peer) => {
          linkHeader(peer, 0);
          nameAndFrame(peer, spec.peerName, spec.mtu, spec.peerMac);
          if (peerNamespaceFd !== undefined) peer.attrU32(IFLA_NET_NS_FD, peerNamespaceFd);
        });
      });
    });
  });
}

export function newTunnel(spec: TunnelSpec): Request {
  const what = `create the ${spec.kind} interface ${spec.name}`;
  return request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, what, (writer) => {
    linkHeader(writer, 0);
    nameAndFrame(writer, spec.name, spec.mtu, spec.mac);
    writer.nest(IFLA_LINKINFO, (info) => {
      info.attrText(IFLA_INFO_KIND, spec.kind).nest(IFLA_INFO_DATA, (data) => {
        if (spec.kind === 'geneve') geneveData(data, spec);
        else vxlanData(data, spec);
      });
    });
  });
}

function vxlanData(writer: NetlinkWriter, spec: TunnelSpec): void {
  writer.attrU16Net(vxlan.PORT, spec.port ?? tunnelPorts.vxlan);
  // Who is where is declared; a packet from outside must not teach the device otherwise.
  writer.attrU8(vxlan.LEARNING, 0);
  if (spec.isExternal) writer.attrU8(vxlan.COLLECT_METADATA, 1);
  else writer.attrU32(vxlan.ID, spec.vni ?? 1);
  if (spec.local) {
    // The local address also decides whether the outer packets are IPv4 or IPv6.
    const type = spec.local.family === 'ipv4' ? vxlan.LOCAL : vxlan.LOCAL6;
    writer.attrAddress(type, spec.local);
  }
}

function geneveData(writer: NetlinkWriter, spec: TunnelSpec): void {
  writer.attrU16Net(geneve.PORT, spec.port ?? tunnelPorts.geneve);
  writer.attr(geneve.COLLECT_METADATA, new Uint8Array(0));
}

function nameAndFrame(
  writer: NetlinkWriter,
  name: string,
  mtu: number | undefined,
  mac: string | undefined,
): void {
  writer.attrText(IFLA_IFNAME, name);
  if (mtu !== undefined) writer.attrU32(IFLA_MTU, mtu);
  if (mac !== undefined) writer.attr(IFLA_ADDRESS, macBytes(mac));
}

export function setLink(link: LinkRef, change: LinkChange): Request {
  return request(RTM_SETLINK, 0, `change the interface ${link.name}`, (writer) => {
    const { isUp, mtu, mac, alias } = change;
    linkHeader(writer, link.index, isUp ? IFF_UP : 0, isUp === undefined ? 0 : IFF_UP);
    if (mtu !== undefined) writer.attrU32(IFLA_MTU, mtu);
    if (mac !== undefined) writer.attr(IFLA_ADDRESS, macBytes(mac));
    if (alias !== undefined && Buffer.byteLength(alias) <= maxAliasBytes) {
      writer.attrText(IFLA_IFALIAS, alias);
    }
  });
}

/** No link-local address of its own making: it gets the one we choose, without a second's DAD. */
export function withoutOwnLinkLocal(link: LinkRef): Request {
  return request(RTM_SETLINK, 0, `set address generation on ${link.name}`, (writer) => {
    linkHeader(writer, link.index).nest(IFLA_AF_SPEC, (families) => {
      families.nest(AF_INET6, (inet6) => {
        inet6.attrU8(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
      });
    });
  });
}

/** By index: the name may have gone to a successor meanwhile. */
export function deleteLink(link: LinkRef): Request {
  return request(RTM_DELLINK, 0, `delete the interface ${link.name}`, (writer) => {
    linkHeader(writer, link.index);
  });
}

export function setGroup(name: string, group: number): Request {
  return request(RTM_SETLINK, 0, `put the interface ${name} into a group`, (writer) => {
    linkHeader(writer, 0).attrText(IFLA_IFNAME, name).attrU32(IFLA_GROUP, group);
  });
}

export function deleteGroup(group: number): Request {
  return request(RTM_DELLINK, 0, `delete the interfaces of group ${group}`, (writer) => {
    linkHeader(writer, 0).attrU32(IFLA_GROUP, group);
  });
}

/** Of a veth: the index of its other end, in whichever namespace that is; 0 if it is not reported. */
export function readPeerIndex({ body }: NetlinkMessage): number {
  return body.attrs(headerLengths.link).get(IFLA_LINK)?.u32(0) ?? 0;
}

/** The interface in an RTM_NEWLINK or RTM_DELLINK. */
export function readLink({ body }: NetlinkMessage): Link {
  const attrs = body.attrs(headerLengths.link);
  const flags = body.u32(8);
  const info = attrs.get(IFLA_LINKINFO)?.attrs();
  const kind = info?.get(IFLA_INFO_KIND)?.text() ?? '';
  const data = info?.get(IFLA_INFO_DATA)?.attrs();
  const tunnel = data && readTunnel(kind, data);
  const alias = attrs.get(IFLA_IFALIAS)?.text();
  return {
    index: body.i32(4),
    name: attrs.get(IFLA_IFNAME)?.text() ?? '',
    kind,
    mac: macText(attrs.get(IFLA_ADDRESS)?.bytes ?? new Uint8Array(0)),
    mtu: attrs.get(IFLA_MTU)?.u32(0) ?? 0,
    isUp: (flags & IFF_UP) !== 0,
    hasCarrier: (flags & IFF_LOWER_UP) !== 0,
    ...(tunnel ? { tunnel } : {}),
    ...(alias ? { alias } : {}),
  };
}

function readTunnel(
  kind: string,
  data: ReadonlyMap<number, NetlinkReader>,
): TunnelSettings | undefined {
  if (kind === 'geneve') {
    return {
      vni: data.get(geneve.ID)?.u32(0) ?? 0,
      port: data.get(geneve.PORT)?.u16Net(0) ?? 0,
      isExternal: data.has(geneve.COLLECT_METADATA),
    };
  }
  if (kind !== 'vxlan') return undefined;
  const local: Address | undefined = (data.get(vxlan.LOCAL) ?? data.get(vxlan.LOCAL6))?.address();
  return {
    vni: data.get(vxlan.ID)?.u32(0) ?? 0,
    port: data.get(vxlan.PORT)?.u16Net(0) ?? 0,
    isExternal: (data.get(vxlan.COLLECT_METADATA)?.u8(0) ?? 0) !== 0,
    ...(local ? { local } : {}),
  };
}
