/** Problems between the parts of a topology, each with its key: pure. */
import { parseAddress } from '../net/address.ts';
import { type Family, families } from '../net/family.ts';
import { type Prefix, parsePrefix } from '../net/prefix.ts';
import { managementNetwork } from './layout.ts';
import type { Addresses, Topology } from './topology.ts';

interface TopologyProblem {
  readonly key: string;
  readonly sentence: string;
}

/** Names of machines that every lab has. */
const reservedNames = ['outside', 'control', 'fabric'];

export function topologyProblems(topology: Topology): TopologyProblem[] {
  const found: TopologyProblem[] = [];
  const say = (key: string, sentence: string) => found.push({ key, sentence });
  const subnets = new Map(topology.subnets.map((subnet) => [subnet.name, subnet]));
  const taken = new Map<string, string>();

  const takes = (key: string, address: string) => {
    const other = taken.get(address);
    if (other === undefined) taken.set(address, key);
    else say(key, `${address} is the address of ${other} already`);
  };
  const liesIn = (key: string, subnet: string, addresses: Addresses) => {
    const home = subnets.get(subnet);
    if (home === undefined) {
      const known = [...subnets.keys()].join(', ') || 'none';
      say(key, `there is no subnet "${subnet}"; there are: ${known}`);
      return;
    }
    if (addresses.ipv4 === undefined) say(key, `${key} needs an IPv4 address`);
    for (const family of families) {
      const address = addresses[family];
      if (address === undefined) continue;
      const cidr = prefixOf(home.cidrs, family);
      if (cidr?.contains(parseAddress(address)!) !== true) {
        say(key, `${address} is not in ${subnet} (${home.cidrs[family] ?? `no ${family} there`})`);
      }
    }
  };

  const networks: Array<{ name: string; prefix: Prefix }> = [
    { name: 'the management network', prefix: parsePrefix(managementNetwork)! },
  ];
  for (const { name, cidrs, gateways } of topology.subnets) {
    const key = `subnets.${name}`;
    if (cidrs.ipv4 === undefined) say(key, `${key} needs an IPv4 cidr`);
    for (const family of families) {
      const prefix = prefixOf(cidrs, family);
      if (prefix === undefined) continue;
      const other = networks.find((one) => one.prefix.overlaps(prefix));
      if (other !== undefined) say(key, `${prefix} overlaps ${other.prefix} of ${other.name}`);
      networks.push({ name, prefix });
      if (gateways[family] === undefined) say(key, `${key} needs a gateway for ${prefix}`);
    }
    liesIn(key, name, gateways);
    const connected = topology.routers.filter(({ legs }) => legs.has(name));
    if (connected.length === 0) say(key, `no router is connected to ${name}, so it has no gateway`);
  }
  const machines = new Set<string>(reservedNames);
  const isNewMachine = (key: string, name: string) => {
    if (machines.has(name)) say(key, `there is a machine called ${name} already`);
    machines.add(name);
  };
  for (const { name, address, asn, software, legs } of topology.routers) {
    const key = `routers.${name}`;
    isNewMachine(key, name);
    if (address === '') say(key, `${key} needs an IPv4 address, its loopback`);
    else takes(key, address);
    if (asn === undefined && software !== 'none') say(key, `${key} needs an asn`);
    if (legs.size === 0) say(key, `${key} is connected to no subnet`);
    for (const [subnet, addresses] of legs) {
      liesIn(key, subnet, addresses);
      for (const one of Object.values(addresses)) takes(key, one);
    }
  }
  for (const { name, subnet, addresses, podCidr, ciliumPodCidr } of topology.nodes) {
    const key = `nodes.${name}`;
    isNewMachine(key, name);
    liesIn(key, subnet, addresses);
    for (const one of Object.values(addresses)) takes(key, one);
    for (const cidr of [podCidr, ciliumPodCidr]) {
      const block = cidr === undefined ? undefined : parsePrefix(cidr);
      const other = networks.find((one) => block !== undefined && one.prefix.overlaps(block));
      if (other !== undefined) say(key, `${cidr} overlaps ${other.prefix} of ${other.name}`);
    }
  }
  if (topology.nodes.length === 0) say('nodes', 'a site needs at least one node');
  if (topology.nodes.length > 200) say('nodes', 'a lab has at most 200 nodes');
  if (topology.outside.subnet === '') say('outside', 'the outside host needs a subnet');
  else liesIn('outside', topology.outside.subnet, topology.outside.addresses);
  for (const one of Object.values(topology.outside.addresses)) takes('outside', one);
  for (const { name, gateways } of topology.subnets) {
    for (const family of families) {
      const gateway = gateways[family];
      const holder = gateway === undefined ? undefined : taken.get(gateway);
      if (holder === undefined || holder.startsWith('routers.')) continue;
      say(`subnets.${name}`, `the gateway ${gateway} is the address of ${holder}`);
    }
  }
  for (const [index, { router, asn }] of topology.peers.entries()) {
    const key = `peers[${index}]`;
    const known = topology.routers.find(({ name }) => name === router);
    if (known === undefined) {
      const names = topology.routers.map(({ name }) => name).join(', ');
      say(key, `there is no router "${router}"; there are: ${names}`);
    } else if (known.software === 'none') {
      say(key, `${router} has software none: it speaks no BGP`);
    }
    if (asn === 0) say(key, `${key} needs an asn, that of the nodes`);
  }
  const asns = new Set(topology.routers.flatMap(({ asn }) => asn ?? []));
  if (topology.witness && asns.size !== 1) {
    say('witness', 'witness needs routers of one AS: each reports by iBGP, or by BMP');
  }
  const { mode, pools, clusterPool } = topology;
  const isByFlags = mode.pools === 'flags';
  if (isByFlags && clusterPool === undefined) say('ipam', `ipam ${mode.name} needs clusterPool`);
  if (!isByFlags && pools.length === 0) say('ipam', `ipam ${mode.name} needs pools`);
  if (!isByFlags && clusterPool !== undefined) {
    say('clusterPool', `clusterPool is not used with ipam ${mode.name}`);
  }
  return found;
}

function prefixOf(cidrs: Addresses, family: Family): Prefix | undefined {
  const cidr = cidrs[family];
  return cidr === undefined ? undefined : parsePrefix(cidr);
}
