/** RTM_*ROUTE. Numbers from linux/rtnetlink.h and lwtunnel.h. */
import { Prefix } from '../../net/prefix.ts';
import { type KernelRoute, mainTable, type RouteSpec, routeText } from '../route.ts';
import {
  AF_INET,
  AF_INET6,
  addressBytes,
  familyNumber,
  NetlinkReader,
  NetlinkWriter,
} from './attributes.ts';
import {
  headerLengths,
  RT_SCOPE_LINK,
  RT_SCOPE_NOWHERE,
  RT_SCOPE_UNIVERSE,
  routeHeader,
} from './headers.ts';
import {
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_DUMP,
  NLM_F_EXCL,
  NLM_F_REPLACE,
  type Request,
  request,
} from './message.ts';

export const RTM_NEWROUTE = 24;
export const RTM_DELROUTE = 25;
const RTM_GETROUTE = 26;

const RTA_DST = 1;
const RTA_OIF = 4;
const RTA_GATEWAY = 5;
const RTA_PRIORITY = 6;
const RTA_PREFSRC = 7;
const RTA_METRICS = 8;
const RTA_MULTIPATH = 9;
const RTA_TABLE = 15;
const RTA_VIA = 18;
const RTA_ENCAP_TYPE = 21;
const RTA_ENCAP = 22;
const RTAX_MTU = 2;

const RTNH_F_ONLINK = 4;
const RTM_F_CLONED = 0x200;

const LWTUNNEL_ENCAP_IP = 2;
const LWTUNNEL_ENCAP_IP6 = 4;
const LWTUNNEL_IP_ID = 1;
const LWTUNNEL_IP_DST = 2;

const typeNumbers = { unicast: 1, blackhole: 6, unreachable: 7, prohibit: 8 } as const;
const typeNames = new Map<number, RouteSpec['type']>(
  Object.entries(typeNumbers).map(([name, number]) => [number, name as RouteSpec['type']]),
);

/** Names to numbers, of the interfaces as they are now. */
type LinkIndexes = ReadonlyMap<string, number>;
type LinkNames = ReadonlyMap<number, string>;

/** Adds, and is refused with EEXIST if the place is taken: by another program, or since we looked. */
export function addRoute(route: RouteSpec, protocol: number, links: LinkIndexes): Request {
  return newRoute(route, protocol, links, NLM_F_CREATE | NLM_F_EXCL);
}

/** Overwrites in place; only for a place that is known to be ours. */
export function replaceRoute(route: RouteSpec, protocol: number, links: LinkIndexes): Request {
  return newRoute(route, protocol, links, NLM_F_CREATE | NLM_F_REPLACE);
}

function newRoute(route: RouteSpec, protocol: number, links: LinkIndexes, flags: number): Request {
  return request(
    RTM_NEWROUTE,
    flags,
    () => `add the route ${routeText(route)}`,
    (writer) => {
      const scope =
        route.prefix.family === 'ipv4' && isUnicast(route) && !route.via && !route.tunnel
          ? RT_SCOPE_LINK
          : RT_SCOPE_UNIVERSE;
      routeBody(writer, route, protocol, scope, links);
    },
  );
}

/** The protocol in the request keeps another program's route of the same place safe. */
export function removeRoute(route: RouteSpec, protocol: number, links: LinkIndexes): Request {
  return request(
    RTM_DELROUTE,
    0,
    () => `remove the route ${routeText(route)}`,
    (writer) => {
      routeBody(writer, route, protocol, RT_SCOPE_NOWHERE, links);
    },
  );
}

function routeBody(
  writer: NetlinkWriter,
  route: RouteSpec,
  protocol: number,
  scope: number,
  links: LinkIndexes,
): void {
  const { prefix, via, device, source, metric, tunnel, mtu, table = mainTable } = route;
  const { family, length } = prefix;
  const type = typeNumbers[route.type ?? 'unicast'];
  const flags = route.isOnLink ? RTNH_F_ONLINK : 0;
  routeHeader(writer, { family, length, table, protocol, scope, type, flags });
  writer.attrAddress(RTA_DST, prefix.first()).attrU32(RTA_TABLE, table);
  if (metric) writer.attrU32(RTA_PRIORITY, metric);
  if (device !== undefined) writer.attrU32(RTA_OIF, links.get(device) ?? 0);
  if (via?.family === prefix.family) writer.attrAddress(RTA_GATEWAY, via);
  else if (via) {
    const value = new NetlinkWriter().u16(familyNumber(via.family)).raw(addressBytes(via));
    writer.attr(RTA_VIA, value.bytes());
  }
  if (source) writer.attrAddress(RTA_PREFSRC, source);
  if (mtu !== undefined) writer.nest(RTA_METRICS, (metrics) => metrics.attrU32(RTAX_MTU, mtu));
  if (tunnel) {
    const isV4 = tunnel.remote.family === 'ipv4';
    writer.attrU16(RTA_ENCAP_TYPE, isV4 ? LWTUNNEL_ENCAP_IP : LWTUNNEL_ENCAP_IP6);
    writer.nest(RTA_ENCAP, (encap) => {
      const id = new Uint8Array(8);
      new DataView(id.buffer).setBigUint64(0, BigInt(tunnel.vni));
      encap.attr(LWTUNNEL_IP_ID, id).attrAddress(LWTUNNEL_IP_DST, tunnel.remote);
    });
  }
}

function isUnicast(route: RouteSpec): boolean {
  return (route.type ?? 'unicast') === 'unicast';
}

/** All tables of both families; with `protocol`, only that one's routes. */
export function listRoutes(family: 'ipv4' | 'ipv6', protocol?: number): Request {
  return request(RTM_GETROUTE, NLM_F_DUMP, `list the ${family} routes`, (writer) => {
    routeHeader(writer, { family, protocol });
  });
}

/** Undefined for what is no route of the tables: cached ones, local, broadcast, multicast. */
export function readRoute({ body }: NetlinkMessage, links: LinkNames): KernelRoute | undefined {
  const family = body.u8(0);
  const type = typeNames.get(body.u8(7));
  const flags = body.u32(8);
  if (type === undefined || (flags & RTM_F_CLONED) !== 0) return undefined;
  if (family !== AF_INET && family !== AF_INET6) return undefined;
  const attrs = body.attrs(headerLengths.route);
  const destination = attrs.get(RTA_DST)?.address();
  const length = body.u8(1);
  const route: KernelRoute = {
    prefix: destination
      ? Prefix.of(destination, length)
      : new Prefix(family === AF_INET ? 'ipv4' : 'ipv6', 0, 0, 0, 0, 0),
    type,
    protocol: body.u8(5),
    metric: attrs.get(RTA_PRIORITY)?.u32(0) ?? 0,
    table: attrs.get(RTA_TABLE)?.u32(0) ?? body.u8(4),
  };
  const source = attrs.get(RTA_PREFSRC)?.address();
  if (source) route.source = source;
  const mtu = attrs.get(RTA_METRICS)?.attrs().get(RTAX_MTU)?.u32(0);
  if (mtu !== undefined) route.mtu = mtu;
  const paths = attrs.get(RTA_MULTIPATH);
  if (paths) readPaths(route, paths, links);
  else readNextHop(route, attrs, attrs.get(RTA_OIF)?.u32(0), flags, links);
  if (type !== 'unicast') delete route.device;
  return route;
}

function readPaths(route: KernelRoute, paths: NetlinkReader, links: LinkNames): void {
  // struct rtnexthop: length, flags, hops, interface; then attributes.
  let count = 0;
  for (let at = 0; at + 8 <= paths.bytes.length; count++) {
    const length = paths.u16(at);
    if (length < 8) break;
    if (count === 0) {
      const hop = new NetlinkReader(paths.bytes.subarray(at, at + length));
      readNextHop(route, hop.attrs(8), hop.u32(4), hop.u8(2), links);
    }
    at += (length + 3) & ~3;
  }
  if (count > 1) route.nextHopCount = count;
}

function readNextHop(
  route: KernelRoute,
  attrs: ReadonlyMap<number, NetlinkReader>,
  linkIndex: number | undefined,
  flags: number,
  links: LinkNames,
): void {
  const via = attrs.get(RTA_GATEWAY)?.address() ?? attrs.get(RTA_VIA)?.address(2);
  if (via) route.via = via;
  if (linkIndex !== undefined) route.device = links.get(linkIndex) ?? `if${linkIndex}`;
  if ((flags & RTNH_F_ONLINK) !== 0) route.isOnLink = true;
  const encap = attrs.get(RTA_ENCAP)?.attrs();
  const remote = encap?.get(LWTUNNEL_IP_DST)?.address();
  const id = encap?.get(LWTUNNEL_IP_ID)?.bytes;
  if (!remote || !id) return;
  const vni = Number(new DataView(id.buffer, id.byteOffset, 8).getBigUint64(0));
  route.tunnel = { vni, remote };
}
