/**
 * Who has which address in a cluster of kubelets, and the commands of `ip` that
 * wire it: the router holds a bridge, to which the control plane and the nodes
 * are connected by a veth each. Every cluster has the same addresses; they are
 * in its namespaces alone.
 */
import { namespaceOf } from '../layout.ts';

export interface Host {
  readonly name: string;
  readonly ipv4: string;
  readonly ipv6: string;
}

const host = (name: string, index: number): Host => ({
  name,
  ipv4: `10.4.94.${index}`,
  ipv6: `fd04:94::${index}`,
});

export const nodeNetwork = { ipv4: '10.4.94.0/24', ipv6: 'fd04:94::/64' } as const;
export const serviceNetwork = { ipv4: '10.96.0.0/16', ipv6: 'fd96::/112' } as const;
/** The first of the Service network: the Service `kubernetes`. */
export const kubernetesService = '10.96.0.1';
export const clusterDns = '10.96.0.10';
export const router: Host & { readonly asn: number } = { ...host('router', 1), asn: 64524 };
export const control: Host = host('control', 2);
/** On the router's loopback: the world outside of the node network. */
export const outsideAddresses = { ipv4: '198.51.100.1', ipv6: '2001:db8:51::1' } as const;
export const apiServerPort = 6443;

/** A node's name and addresses, counted from 1. */
export function nodeHost(index: number): Host {
  return host(`node${index}`, 10 + index);
}

/** In the router's namespace, before anybody is connected. */
export const routerLines: readonly string[] = [
  'link set lo up',
  `addr add ${outsideAddresses.ipv4}/32 dev lo`,
  `addr add ${outsideAddresses.ipv6}/128 dev lo`,
  'link add br0 type bridge stp_state 0 forward_delay 0',
  `addr add ${router.ipv4}/24 dev br0`,
  `addr add ${router.ipv6}/64 dev br0 nodad`,
  'link set br0 up',
];

/** In the router's namespace: a veth to the host, whose namespace is there. */
export function connectLines(cluster: string, { name }: Host): string[] {
  return [
    `link add to-${name} type veth peer name eth0 netns ${namespaceOf(cluster, name)}`,
    `link set to-${name} master br0 up`,
  ];
}

/** In the namespace of the host, once it is connected. */
export function hostLines({ ipv4, ipv6 }: Host): string[] {
  return [
    'link set lo up',
    `addr add ${ipv4}/24 dev eth0`,
    `addr add ${ipv6}/64 dev eth0 nodad`,
    'link set eth0 up',
    `route add default via ${router.ipv4}`,
    `route add default via ${router.ipv6}`,
  ];
}

/** Below /proc/sys/net. Frames between ports of the bridge are no business of nftables. */
export const routerSettings: Readonly<Record<string, number>> = {
  'ipv4/ip_forward': 1,
  'ipv6/conf/all/forwarding': 1,
  'ipv4/conf/all/rp_filter': 0,
  'ipv4/conf/default/rp_filter': 0,
  'ipv4/fib_multipath_hash_policy': 1,
  'ipv6/fib_multipath_hash_policy': 1,
  'bridge/bridge-nf-call-iptables': 0,
  'bridge/bridge-nf-call-ip6tables': 0,
};

export const hostSettings: Readonly<Record<string, number>> = {
  'ipv4/conf/all/rp_filter': 0,
  'ipv4/conf/default/rp_filter': 0,
  'ipv6/conf/all/accept_ra': 0,
};

/** What kubeadm asks of a node before it joins: forwarding. */
export const nodeSettings: Readonly<Record<string, number>> = {
  ...hostSettings,
  'ipv4/ip_forward': 1,
  'ipv6/conf/all/forwarding': 1,
};
