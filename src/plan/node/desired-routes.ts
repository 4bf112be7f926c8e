import { type Address, parseAddress } from '../../net/address.ts';
import { ClaimIndex } from '../../net/claim-index.ts';
import { type Family, familyBits } from '../../net/family.ts';
import { Prefix } from '../../net/prefix.ts';
import { PrefixSet } from '../../net/prefix-set.ts';
import type { Finding } from '../blocks/finding.ts';
import { gatewayOf } from '../pod-address/block-addresses.ts';
import type { OwnedBlock } from './node-truth.ts';

/**
 * The routes that one node should hold, all of them, worked out anew whenever
 * a node comes, goes or moves, or an interface of ours changes.
 *
 *   own block                        unreachable: pods have their own, longer routes
 *   block of a node on one of our    via that node, out of that interface
 *   links, with direct routes on
 *   block of another node, tunnel on via the tunnel: a gateway that exists only as
 *                                    a permanent neighbour with the MAC of that
 *                                    node's tunnel, and an FDB entry for the MAC
 *   anything else                    nothing: the routers know
 *
 * Promises, each a property in the test: an own block, or a part of one, is
 * never routed out; a block leads to the node that holds it or nowhere; the
 * order of the input does not matter; no route to pods covers the address of
 * a node, ours or another's, or we would lose it over somebody's typing mistake.
 */
export const routings = [
  'native',
  'vxlan',
  'vxlan-across-subnets',
  'geneve',
  'geneve-across-subnets',
] as const;
export type Routing = (typeof routings)[number];
export type Encapsulation = 'vxlan' | 'geneve';

export function encapsulationOf(routing: Routing): Encapsulation | undefined {
  if (routing === 'native') return undefined;
  return routing.startsWith('vxlan') ? 'vxlan' : 'geneve';
}

/** As Cilium and flannel: any number will do, as long as all nodes have the same. */
export const tunnelVni = 1;

export interface RoutedNode {
  readonly name: string;
  readonly createdMs: number;
  /** InternalIPs, as the Node gives them. */
  readonly addresses: readonly string[];
  readonly blocks: readonly Pick<OwnedBlock, 'prefix'>[];
}

/** An interface of this node that leads to other nodes: up, and neither loopback nor ours. */
export interface Uplink {
  readonly name: string;
  readonly mtu: number;
  readonly addresses: ReadonlyArray<{ readonly address: Address; readonly length: number }>;
}

export interface RoutingInput {
  readonly self: RoutedNode;
  readonly others: Iterable<RoutedNode>;
  readonly uplinks: readonly Uplink[];
  readonly routing: Routing;
  /** Native only: routes to nodes on the same link. The tunnel across subnets implies it. */
  readonly directRoutes: boolean;
  readonly tunnelDevice: string;
  /** The MAC that a node's tunnel has; everyone derives the same one. */
  readonly tunnelMacOf: (nodeName: string) => string;
}

export interface DesiredRoute {
  prefix: Prefix;
  type?: 'unreachable';
  metric?: number;
  via?: Address;
  device?: string;
  isOnLink?: boolean;
  /** Geneve has no table of who is where: the route itself says. */
  tunnel?: { vni: number; remote: Address };
}

export interface DesiredTunnel {
  kind: Encapsulation;
  /** Source of the outer packets. */
  local: Address;
  mac: string;
  mtu: number;
  /** On the device: the source of what this node itself sends into the tunnel. */
  addresses: { address: Address; length: number }[];
  neighbours: { address: Address; mac: string }[];
  forwardingEntries: { mac: string; remote: Address }[];
}

export interface DesiredRoutes {
  routes: DesiredRoute[];
  tunnel: DesiredTunnel | undefined;
  findings: Finding[];
}

/** Outer Ethernet, IP, UDP and VXLAN headers (RFC 7348 §5); Geneve without options has as many (RFC 8926 §3.4). */
const tunnelOverhead: Record<Family, number> = { ipv4: 50, ipv6: 70 };
/** Where nothing is known about the way out. */
const commonMtu = 1500;

export function desiredRoutes(input: RoutingInput): DesiredRoutes {
  const { self, routing } = input;
  const findings: Finding[] = [];
  const own = PrefixSet.of(self.blocks.map(({ prefix }) => prefix));
  const routes: DesiredRoute[] = own.prefixes.map(unreachable);
  const kind = encapsulationOf(routing);
  const tunnel = kind && emptyTunnel(kind, input, findings);
  // Of two that claim one block the older is believed: it had it first.
  const others = [...input.others].filter(({ name }) => name !== self.name).sort(byAge);
  const hosts = hostAddresses(input, others);
  const taken = new ClaimIndex<string>();
  for (const other of others) {
    const way = wayTo(input, other, tunnel);
    for (const { prefix } of other.blocks) {
      const objection = objectionTo(prefix, other, self, own, hosts, taken);
      if (objection !== undefined) {
        findings.push(objection);
        continue;
      }
      taken.record(prefix, other.name);
      const answer = way(prefix);
      if (answer === undefined) continue;
      if ('reason' in answer) findings.push(answer);
      else routes.push(answer);
    }
  }
  routes.sort((a, b) => a.prefix.compare(b.prefix));
  return { routes, tunnel, findings };
}

/**
 * What drops the rest of an own block. It gives way to a network of the kernel's
 * own (metric 0; 256 in IPv6): where `bridge` or `macvlan` take their addresses
 * from us, the block is such a network of their interface. And to nobody else: in
 * IPv4 daemons' routes begin at 20.
 */
export function unreachable(prefix: Prefix): DesiredRoute {
  return { prefix, type: 'unreachable', ...(prefix.family === 'ipv4' ? { metric: 1 } : {}) };
}

/** Interfaces of the node by which direct neighbours are found. */
export function linkTo(uplinks: readonly Uplink[], address: Address): Uplink | undefined {
  let best: { uplink: Uplink; length: number } | undefined;
  for (const uplink of uplinks) {
    for (const own of uplink.addresses) {
      const isNetwork = own.length < familyBits(own.address.family) && own.length > 0;
      if (!isNetwork || !Prefix.of(own.address, own.length).contains(address)) continue;
      if (own.address.equals(address)) return undefined;
      // As the kernel does: the longest match.
      if (best === undefined || own.length > best.length) best = { uplink, length: own.length };
    }
  }
  return best?.uplink;
}

type Way = (prefix: Prefix) => DesiredRoute | Finding | undefined;

function wayTo(input: RoutingInput, other: RoutedNode, tunnel: DesiredTunnel | undefined): Way {
  const addresses = other.addresses.flatMap((text) => parseAddress(text) ?? []);
  const mayBeDirect =
    input.routing === 'native' ? input.directRoutes : input.routing.endsWith('-across-subnets');
  const neighbours = mayBeDirect
    ? addresses.flatMap((address) => {
        // A link-local address is on every link and so says nothing about one.
        const uplink = linkTo(input.uplinks, address);
        return uplink === undefined ? [] : [{ address, uplink }];
      })
    : [];
  const remote = addresses.find(({ family }) => family === tunnel?.local.family);
  let hasTunnel = false;
  return (prefix) => {
    const near = neighbours.find(({ address }) => address.family === prefix.family);
    if (near !== undefined) return { prefix, via: near.address, device: near.uplink.name };
    if (tunnel === undefined) return undefined;
    if (remote === undefined) return noAddress(other, prefix, tunnel.local.family);
    const mac = input.tunnelMacOf(other.name);
    if (!hasTunnel && tunnel.kind === 'vxlan') tunnel.forwardingEntries.push({ mac, remote });
    hasTunnel = true;
    const via = tunnelGateway(prefix);
    tunnel.neighbours.push({ address: via, mac });
    const route = { prefix, via, device: input.tunnelDevice, isOnLink: true };
    return tunnel.kind === 'vxlan' ? route : { ...route, tunnel: { vni: tunnelVni, remote } };
  };
}

/**
 * Every node calls the far end of the tunnel by the address that the block keeps
 * for its node. In a block of one or two there is none; its first address will do,
 * because on the tunnel it is only a name for a MAC.
 */
function tunnelGateway(prefix: Prefix): Address {
  return gatewayOf(prefix) ?? prefix.first();
}

/** The interface with the node's own InternalIP. */
export function ownUplink(
  uplinks: readonly Uplink[],
  { addresses: [first = ''] }: Pick<RoutedNode, 'addresses'>,
): Uplink | undefined {
  const own = parseAddress(first);
  if (own === undefined) return undefined;
  return uplinks.find(({ addresses }) => addresses.some(({ address }) => address.equals(own)));
}

function emptyTunnel(
  kind: Encapsulation,
  input: RoutingInput,
  findings: Finding[],
): DesiredTunnel | undefined {
  const { self, uplinks } = input;
  const local = self.addresses.flatMap((text) => parseAddress(text) ?? [])[0];
  if (local === undefined) {
    const detail = `${self.name} has no InternalIP, so there is no tunnel from it`;
    findings.push({ reason: 'NoAddressOfFamily', nodes: [self.name], cidr: '', detail });
    return undefined;
  }
  const uplink = ownUplink(uplinks, { addresses: [local.toString()] });
  return {
    kind,
    local,
    mac: input.tunnelMacOf(self.name),
    mtu: (uplink?.mtu ?? commonMtu) - tunnelOverhead[local.family],
    addresses: self.blocks
      .map(({ prefix }) => prefix)
      .sort((a, b) => a.compare(b))
      .flatMap((prefix) => {
        const address = gatewayOf(prefix);
        return address === undefined ? [] : [{ address, length: familyBits(prefix.family) }];
      }),
    neighbours: [],
    forwardingEntries: [],
  };
}

function objectionTo(
  prefix: Prefix,
  other: RoutedNode,
  self: RoutedNode,
  own: PrefixSet,
  hosts: ClaimIndex<string>,
  taken: ClaimIndex<string>,
): Finding | undefined {
  const cidr = prefix.toString();
  const mine = own.overlapping(prefix);
  if (mine !== undefined) {
    const detail = `${prefix} of ${other.name} overlaps ${mine}, which ${self.name} holds; there is no route to it`;
    return { reason: 'OverlappingBlocks', nodes: [other.name, self.name], cidr, detail };
  }
  const holder = taken.firstOverlap(prefix);
  if (holder !== undefined) {
    const { prefix: theirs, owner } = holder;
    const reason = theirs.equals(prefix) ? 'DuplicateBlock' : 'OverlappingBlocks';
    const detail = `${prefix} of ${other.name} overlaps ${theirs} of ${owner}; only ${owner}, the older one, has a route`;
    return { reason, nodes: [owner, other.name], cidr, detail };
  }
  const host = hosts.firstOverlap(prefix);
  if (host === undefined) return undefined;
  const detail = `${prefix} of ${other.name} contains ${host.prefix.first()}, the address of ${host.owner}; there is no route to it`;
  return { reason: 'OverlapsNetwork', nodes: [other.name, host.owner], cidr, detail };
}

function noAddress(other: RoutedNode, prefix: Prefix, family: Family): Finding {
  const detail = `${other.name} has no ${family} InternalIP, so no tunnel leads to ${prefix}`;
  return {
    reason: 'NoAddressOfFamily',
    nodes: [other.name],
    cidr: prefix.toString(),
    detail,
  };
}

function hostAddresses(input: RoutingInput, others: readonly RoutedNode[]): ClaimIndex<string> {
  const hosts = new ClaimIndex<string>();
  const put = (address: Address, owner: string) =>
    hosts.record(Prefix.of(address, familyBits(address.family)), owner);
  for (const { addresses } of input.uplinks) {
    for (const { address } of addresses) put(address, input.self.name);
  }
  for (const { name, addresses } of [input.self, ...others]) {
    for (const text of addresses) {
      const address = parseAddress(text);
      if (address !== undefined) put(address, name);
    }
  }
  return hosts;
}

function byAge(a: RoutedNode, b: RoutedNode): number {
  return a.createdMs - b.createdMs || (a.name < b.name ? -1 : 1);
}
