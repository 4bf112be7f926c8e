/**
 * From a topology to the commands of `ip`, pure. All switches are bridges in
 * one namespace, the fabric; every other machine is connected to it by a veth.
 *
 *   node, outside   eth0 in its subnet, default route to the gateway
 *   node, control   mgmt0: how agents reach the API server
 *   router          mgmt0 too, where routers report to the operators
 *   router          one interface per subnet, and `core`, between the routers
 *
 * Routers are known by their loopback addresses, and `core` is unnumbered: it
 * borrows the gateway's address. So a traceroute shows 10.4.83.1 whichever side
 * it comes from, as it does on real switches.
 */
import { families } from '../net/family.ts';
import {
  type Addresses,
  gatewayRouter,
  type LabNode,
  type LabRouter,
  type Subnet,
  type Topology,
} from './topology.ts';

/** RFC 2544's range: nobody's site, and never routed. */
export const managementNetwork = '198.18.0.0/24';
export const apiServerAddress = '198.18.0.1';
const firstManagementHost = 10;
const firstManagementRouter = 230;

interface Machine {
  readonly name: string;
  readonly kind: 'fabric' | 'control' | 'outside' | 'router' | 'node';
  /** Lines for `ip -batch` inside the machine, once its links are there. */
  readonly lines: readonly string[];
  /** Below /proc/sys/net, set before there are links. */
  readonly settings: Readonly<Record<string, number>>;
}

interface Layout {
  readonly machines: readonly Machine[];
  /** Lines for `ip -batch` in the fabric: bridges, and a veth for each machine. */
  readonly fabricLines: readonly string[];
}

/** Of every namespace of a lab; the prefix alone tells whose it is. */
function namespacePrefix(lab: string): string {
  return `cadastre-${lab}-`;
}

export function namespaceOf(lab: string, machine: string): string {
  return `${namespacePrefix(lab)}${machine}`;
}

export function podMachine(pod: string): string {
  return `pod-${pod}`;
}

/** Interface names end at 15 characters. */
export function legName(subnet: string): string {
  return subnet.length <= 15 ? subnet : subnet.slice(0, 15).replace(/-$/, '');
}

/** The address of VRRP (RFC 9568 §7.3): it moves with the gateway, so that nobody has to ask again. */
function gatewayMac(topology: Topology, subnet: string): string {
  const index = topology.subnets.findIndex(({ name }) => name === subnet) + 1;
  return `00:00:5e:00:01:${index.toString(16).padStart(2, '0')}`;
}

export function layOut(lab: string, topology: Topology): Layout {
  const bridges = new Map(topology.subnets.map(({ name }, index) => [name, `br${index}`]));
  const fabricLines: string[] = [];
  for (const bridge of [...bridges.values(), 'core', 'mgmt']) {
    // A bridge that waits for a spanning tree would cost fifteen seconds.
    fabricLines.push(`link add ${bridge} type bridge stp_state 0 forward_delay 0`);
    fabricLines.push(`link set ${bridge} up`);
  }
  let port = 0;
  const connect = (machine: string, link: string, bridge: string) => {
    const end = `p${port++}`;
    const namespace = namespaceOf(lab, machine);
    fabricLines.push(`link add ${end} type veth peer name ${link} netns ${namespace}`);
    fabricLines.push(`link set ${end} master ${bridge} up`);
  };
  connect('control', 'mgmt0', 'mgmt');
  connect('outside', 'eth0', bridges.get(topology.outside.subnet)!);
  for (const router of topology.routers) {
    for (const subnet of router.legs.keys()) {
      connect(router.name, legName(subnet), bridges.get(subnet)!);
    }
    connect(router.name, 'core', 'core');
    if (topology.witness) connect(router.name, 'mgmt0', 'mgmt');
  }
  for (const node of topology.nodes) {
    // eth0 first: an answer of the node itself comes from its first interface.
    connect(node.name, 'eth0', bridges.get(node.subnet)!);
    connect(node.name, 'mgmt0', 'mgmt');
  }
  const subnetOf = (name: string) => topology.subnets.find((subnet) => subnet.name === name)!;
  const { outside } = topology;
  return {
    fabricLines,
    machines: [
      { name: 'fabric', kind: 'fabric', settings: {}, lines: ['link set lo up'] },
      {
        name: 'control',
        kind: 'control',
        settings: {},
        lines: [
          'link set lo up',
          ...management(apiServerAddress),
          ...(topology.witness ? toRouters(topology) : []),
        ],
      },
      {
        name: 'outside',
        kind: 'outside',
        settings: quietSettings,
        lines: ['link set lo up', ...host(outside.addresses, subnetOf(outside.subnet))],
      },
      ...topology.routers.map((router): Machine => {
        const settings = { ...quietSettings, ...forwardingSettings };
        return {
          name: router.name,
          kind: 'router',
          settings,
          lines: [
            ...routerLines(topology, router),
            ...(topology.witness ? management(routerManagementAddress(topology, router)) : []),
          ],
        };
      }),
      ...topology.nodes.map((node, index): Machine => {
        const lines = [
          'link set lo up',
          ...host(node.addresses, subnetOf(node.subnet)),
          ...management(managementAddress(index)),
        ];
        return { name: node.name, kind: 'node', settings: quietSettings, lines };
      }),
    ],
  };
}

/** How a node comes back into its subnet after its links were down: routes do not survive that. */
export function nodeRoutes(topology: Topology, node: LabNode): string[] {
  const subnet = topology.subnets.find(({ name }) => name === node.subnet)!;
  return defaults(node.addresses, subnet);
}

/** Lines that make a router the gateway of a subnet; VRRP would do the same. */
function takeGateway(topology: Topology, subnet: Subnet): string[] {
  const link = legName(subnet.name);
  const lines = families.flatMap((family) => {
    const gateway = subnet.gateways[family];
    const cidr = subnet.cidrs[family];
    if (gateway === undefined || cidr === undefined) return [];
    return [`addr replace ${gateway}/${lengthOf(cidr)} dev ${link}${dad(gateway)}`];
  });
  // The change of address is what makes the kernel announce it (arp_notify).
  return [...lines, `link set ${link} address ${gatewayMac(topology, subnet.name)}`];
}

/** The same for a router that is in its subnets already: answers must come from the gateway's address. */
export function becomeGateway(topology: Topology, router: LabRouter, subnet: Subnet): string[] {
  const link = legName(subnet.name);
  const own = router.legs.get(subnet.name)?.ipv4;
  const { ipv4: gateway } = subnet.gateways;
  const { ipv4: cidr } = subnet.cidrs;
  const taken = takeGateway(topology, subnet);
  if (own === undefined || gateway === undefined || cidr === undefined || own === gateway) {
    return taken;
  }
  const [first] = router.legs.keys();
  return [
    ...taken,
    // Added last, it is the second: the first one is what the kernel answers from.
    `addr del ${own}/${lengthOf(cidr)} dev ${link}`,
    `addr add ${own}/${lengthOf(cidr)} dev ${link}`,
    ...(first === subnet.name
      ? [`addr replace ${gateway}/32 dev core`, `addr del ${own}/32 dev core`]
      : []),
  ];
}

/** Lines after which a router that was away is in its subnets again, and nobody's gateway. */
export function routerLines(
  topology: Topology,
  router: LabRouter,
  keeps = (subnet: string) => gatewayRouter(topology, subnet)?.name === router.name,
): string[] {
  const lines = ['link set lo up', `addr replace ${router.address}/32 dev lo`];
  for (const [name, own] of router.legs) {
    const subnet = topology.subnets.find((one) => one.name === name)!;
    const link = legName(name);
    // The first address of a subnet is the one a router's own answers come from.
    if (keeps(name)) lines.push(...takeGateway(topology, subnet));
    for (const family of families) {
      const [address, cidr] = [own[family], subnet.cidrs[family]];
      if (address === undefined || cidr === undefined) continue;
      lines.push(`addr replace ${address}/${lengthOf(cidr)} dev ${link}${dad(address)}`);
    }
    lines.push(`link set ${link} up`);
  }
  const [first] = router.legs.keys();
  const gateway = topology.subnets.find(({ name }) => name === first)?.gateways.ipv4;
  const own = first === undefined ? undefined : router.legs.get(first)?.ipv4;
  const borrowed = first !== undefined && keeps(first) ? gateway : own;
  lines.push(`addr replace ${borrowed}/32 dev core`, 'link set core up');
  for (const other of topology.routers) {
    if (other.name === router.name) continue;
    lines.push(`route replace ${other.address}/32 dev core`);
    if (router.software !== 'none') continue;
    // Without a routing protocol the other subnets are static routes.
    for (const name of other.legs.keys()) {
      if (router.legs.has(name)) continue;
      if (gatewayRouter(topology, name)?.name !== other.name) continue;
      const cidr = topology.subnets.find((one) => one.name === name)?.cidrs.ipv4;
      lines.push(`route replace ${cidr} via ${other.address} dev core onlink`);
    }
  }
  return lines;
}

function management(address: string): string[] {
  return [`addr add ${address}/${lengthOf(managementNetwork)} dev mgmt0`, 'link set mgmt0 up'];
}

function managementAddress(index: number): string {
  return managementHost(firstManagementHost + index);
}

function routerManagementAddress({ routers }: Topology, { name }: LabRouter): string {
  return managementHost(firstManagementRouter + routers.findIndex((one) => one.name === name));
}

function managementHost(host: number): string {
  return apiServerAddress.replace(/\d+$/, String(host));
}

/** A router speaks from its loopback, by which nodes know it too. */
function toRouters(topology: Topology): string[] {
  return topology.routers.map(
    (router) =>
      `route add ${router.address}/32 via ${routerManagementAddress(topology, router)} dev mgmt0`,
  );
}

function host(addresses: Addresses, subnet: Subnet): string[] {
  const own = families.flatMap((family) => {
    const [address, cidr] = [addresses[family], subnet.cidrs[family]];
    if (address === undefined || cidr === undefined) return [];
    return [`addr add ${address}/${lengthOf(cidr)} dev eth0${dad(address)}`];
  });
  return [...own, 'link set eth0 up', ...defaults(addresses, subnet)];
}

function defaults(addresses: Addresses, subnet: Subnet): string[] {
  return families.flatMap((family) => {
    const gateway = subnet.gateways[family];
    if (addresses[family] === undefined || gateway === undefined) return [];
    return [`route replace default via ${gateway} dev eth0`];
  });
}

function lengthOf(cidr: string): string {
  return cidr.split('/')[1]!;
}

/** Nobody else is there to hold the address: asking first would cost a second. */
function dad(address: string): string {
  return address.includes(':') ? ' nodad' : '';
}

/** Nothing that would put a packet on another way than the routes say, or keep an answer back. */
const quietSettings = {
  'ipv4/conf/all/rp_filter': 0,
  'ipv4/conf/default/rp_filter': 0,
  'ipv4/conf/all/accept_redirects': 0,
  'ipv4/conf/default/accept_redirects': 0,
  'ipv4/conf/all/send_redirects': 0,
  'ipv4/conf/default/send_redirects': 0,
  'ipv4/conf/all/promote_secondaries': 1,
  'ipv4/conf/default/promote_secondaries': 1,
  'ipv4/conf/all/arp_notify': 1,
  'ipv4/conf/default/arp_notify': 1,
  'ipv4/icmp_ratelimit': 0,
  'ipv6/conf/all/accept_ra': 0,
  'ipv6/conf/default/accept_ra': 0,
  'ipv6/conf/default/accept_dad': 0,
  'ipv6/conf/all/accept_redirects': 0,
  'ipv6/conf/default/accept_redirects': 0,
  'ipv6/conf/all/ndisc_notify': 1,
  'ipv6/conf/default/ndisc_notify': 1,
  'ipv6/icmp/ratelimit': 0,
};

const forwardingSettings = { 'ipv4/ip_forward': 1, 'ipv6/conf/all/forwarding': 1 };
