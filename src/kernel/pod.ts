/**
 * A pod's wiring: one veth pair, one end born in the pod's namespace, and
 * routes to single addresses on both sides. No bridge, no shared subnet.
 *
 *     pod                                       host
 *     eth0  10.5.113.7/32, fd00::7/128   ───    cad1234…  fe80::1/128
 *     default via 169.254.1.1 onlink            10.5.113.7/32 dev cad1234…
 *     default via fe80::1                       fd00::7/128   dev cad1234…
 *     169.254.1.1 and fe80::1 are permanent
 *     neighbours with the host end's MAC
 *
 * The gateway is the same for every pod of every node, so that a pod's own
 * configuration never changes. In the pod it is a *permanent neighbour*: there
 * is nothing to resolve, so nothing depends on proxy-ARP being on (and its
 * random delay of up to 0.8 s), on a default route of the host, on rp_filter, or
 * on duplicate address detection being over. The other direction is resolved
 * as usual, because a chained plugin (`tuning`) may give the pod another MAC
 * after us; for that the host's end carries fe80::1, without detection, as
 * the source of its neighbour solicitations from the first moment on.
 */
import { type Address, parseAddress } from '../net/address.ts';
import { type Family, familyBits } from '../net/family.ts';
import { Prefix } from '../net/prefix.ts';
import type { LinkAddress, Neighbour } from './link.ts';
import type { Route } from './route.ts';

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
}

export interface WiredPod {
  hostMac: string;
  podMac: string;
  mtu: number;
}

export type PodCheck = { kind: 'fine' } | { kind: 'broken'; problems: string[] };

/** What should be on either side: the one description that wiring and checking share. */
export interface PodFurniture {
  podAddresses: LinkAddress[];
  podNeighbours: Neighbour[];
  podRoutes: Route[];
  hostAddresses: LinkAddress[];
  hostRoutes: Route[];
}

export function podFurniture(wiring: PodWiring, hostMac: string): PodFurniture {
  const gateway = { ...podGateways, ...wiring.gateway };
  const families = new Set(wiring.addresses.map(({ family }) => family));
  const everything = (family: Family) => new Prefix(family, 0, 0, 0, 0, 0);
  const destinations = wiring.routes ?? [...families].map(everything);
  const asHost = (address: Address) => ({ address, length: familyBits(address.family) });
  return {
    podAddresses: wiring.addresses.map(asHost),
    podNeighbours: [...families].map((family) => ({ address: gateway[family], mac: hostMac })),
    podRoutes: destinations
      .filter(({ family }) => families.has(family))
      .map((prefix) => ({
        prefix,
        via: gateway[prefix.family],
        device: wiring.ifName,
        isOnLink: true,
      })),
    hostAddresses: families.has('ipv6') ? [asHost(gateway.ipv6)] : [],
    hostRoutes: wiring.addresses.map((address) => ({
      prefix: Prefix.of(address, familyBits(address.family)),
      device: wiring.hostIfName,
    })),
  };
}
