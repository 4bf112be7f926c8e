/**
 * A pod's wiring: one veth pair, one end born in the pod's namespace, and
 * routes to single addresses on both sides. No bridge, no shared subnet.
 *
 *     pod                                       host
 *     eth0  10.5.113.7/32, fd00::7/128   ───    cad1234…  169.254.1.1/32, fe80::1/128
 *     default via 169.254.1.1 onlink            10.5.113.7/32 dev cad1234…
 *     default via fe80::1 onlink                fd00::7/128   dev cad1234…
 *
 * The gateway is the same for every pod of every node, so a pod's own
 * configuration never changes. It is a real address of the host's end, which
 * answers for it at once. Two other ways were tried or weighed:
 * - proxy-ARP answers only if the host has a route to the gateway over another
 *   interface, and after a random delay of up to 0.8 s; proxy-NDP needs an
 *   entry for each address.
 * - a permanent neighbour in the pod needs no answer, but is flushed when a
 *   chained plugin (`tuning`) gives the pod another MAC, and then nobody answers.
 *
 * 169.254.1.1 stands on every host end with scope *host*: the kernel answers ARP
 * for it and never chooses it as the source of what the node itself sends.
 * IPv6 addresses come without duplicate detection, which would hold them back
 * for a second.
 */
import { type Address, parseAddress } from '../net/address.ts';
import { type Family, familyBits } from '../net/family.ts';
import { Prefix } from '../net/prefix.ts';
import type { LinkAddress } from './link.ts';
import type { RouteSpec } from './route.ts';

export const podGateways: Readonly<Record<Family, Address>> = {
  ipv4: parseAddress('169.254.1.1') as Address,
  ipv6: parseAddress('fe80::1') as Address,
};

/** Where a pod's interface is; enough to remove it. */
export interface PodPlace {
  /** The host's end; hostLinkName makes one. */
  hostIfName: string;
}

export interface PodWiring extends PodPlace {
  netnsPath: string;
  /** The pod's end, `eth0` as a rule. */
  ifName: string;
  /** At most a few; one per family as a rule. */
  addresses: readonly Address[];
  /** Default: podGateways. */
  gateway?: Partial<Record<Family, Address>>;
  /** Default: everything, in each family that has an address. */
  routes?: readonly Prefix[];
  mtu?: number;
  /** Of the pod's end. */
  mac?: string;
  /** Left on the host's end, for people; one that is too long is left out. */
  alias?: string;
}

export interface WiredPod {
  hostMac: string;
  podMac: string;
  mtu: number;
}

export type PodCheck = { kind: 'fine' } | { kind: 'broken'; problems: string[] };

/** What should be on either side: the one description that wiring and checking share. */
export interface PodInterfaceConfig {
  podAddresses: LinkAddress[];
  podRoutes: RouteSpec[];
  hostAddresses: LinkAddress[];
  hostRoutes: RouteSpec[];
}

export function podInterfaceConfig(wiring: PodWiring): PodInterfaceConfig {
  const gateway = { ...podGateways, ...wiring.gateway };
  const families = [...new Set(wiring.addresses.map(({ family }) => family))];
  const everything = (family: Family) => new Prefix(family, 0, 0, 0, 0, 0);
  const destinations = wiring.routes ?? families.map(everything);
  const alone = (address: Address) => ({ address, length: familyBits(address.family) });
  return {
    podAddresses: wiring.addresses.map(alone),
    podRoutes: destinations
      .filter(({ family }) => families.includes(family))
      .map((prefix) => ({
        prefix,
        via: gateway[prefix.family],
        device: wiring.ifName,
        isOnLink: true,
      })),
    hostAddresses: families.map((family) => ({ ...alone(gateway[family]), isNeverSource: true })),
    hostRoutes: wiring.addresses.map((address) => ({
      prefix: Prefix.of(address, familyBits(address.family)),
      device: wiring.hostIfName,
    })),
  };
}
