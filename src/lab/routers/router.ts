/** What every router software of a lab can do, in one vocabulary. */
import { selects } from '../../model/label-selector.ts';
import type { Family } from '../../net/family.ts';
import { families } from '../../net/family.ts';
import { apiServerAddress } from '../layout.ts';
import type { LabRouter, Software, Topology } from '../topology.ts';

export interface HeldRoute {
  readonly prefix: string;
  readonly nextHop: string;
}

/** A route as a router was told it, be it the one that it uses or not. */
export interface HeldPath extends HeldRoute {
  readonly isBest: boolean;
}

/** The routes in use. */
export function tableOf(paths: readonly HeldPath[]): HeldRoute[] {
  return paths.flatMap(({ isBest, ...route }) => (isBest ? [route] : []));
}

/** One neighbour of a router: a node, or another router. */
export interface Neighbour {
  readonly name: string;
  readonly address: string;
  readonly asn: number;
  /** A router advertises nothing to nodes, and everything to routers. */
  readonly kind: 'node' | 'router';
}

/** All that a router's configuration is made from. */
export interface RouterPlan {
  readonly router: LabRouter;
  readonly asn: number;
  readonly neighbours: readonly Neighbour[];
  readonly families: readonly Family[];
  /** The subnets it is connected to, which it advertises to other routers. */
  readonly subnets: Readonly<Record<Family, readonly string[]>>;
  /** Advertised to other routers: lowest by the subnet's gateway, higher by its twins. */
  readonly med: number;
  /** Loopbacks of the other routers, all on `core`. */
  readonly others: readonly string[];
  /** The operators that it reports to what it holds. */
  readonly stations: readonly Station[];
}

/** Where an operator listens: for BMP, and for an iBGP session with any router. */
export interface Station {
  readonly operator: number;
  readonly address: string;
  readonly bmpPort: number;
  readonly bgpPort: number;
}

/** Replicas share an address. */
export function stationOf(operator: number): Station {
  return {
    operator,
    address: apiServerAddress,
    bmpPort: 11_018 + operator,
    bgpPort: 1_789 + operator,
  };
}

export interface RouterProcess {
  readonly name: string;
  readonly command: readonly string[];
  /** A path that exists once it serves. */
  readonly readyPath: string;
}

export interface RouterSoftware {
  readonly software: Software;
  /** How the kernel marks its routes (`ip route show proto …`). */
  readonly routeProtocol: string;
  /** A program whose absence means that it cannot be had. */
  readonly program: string;
  /** Who the files must belong to; root unless said. */
  readonly user?: string;
  /** Its configuration: file name and text. */
  files(plan: RouterPlan, folder: string): Readonly<Record<string, string>>;
  processes(folder: string, cadastre: readonly string[]): readonly RouterProcess[];
  /** The command that prints its table with all paths, to be run inside; undefined: the kernel's own table. */
  tableCommand(folder: string, family: Family): readonly string[] | undefined;
  readPaths(text: string): HeldPath[];
}

/** Short, because a lab's routers die on purpose; as long as a busy machine needs. */
export const holdSeconds = 9;

export function planRouter(topology: Topology, router: LabRouter): RouterPlan {
  const peers = topology.peers.filter(({ router: name }) => name === router.name);
  const nodes = topology.nodes.flatMap(({ name, addresses, labels }): Neighbour[] => {
    // Also nodes that no peer selects now: a relabelled node must be let in.
    const peer = peers.find(({ nodeSelector }) => selects(nodeSelector, labels)) ?? peers[0];
    if (peer === undefined || addresses.ipv4 === undefined) return [];
    return [{ name, address: addresses.ipv4, asn: peer.asn, kind: 'node' }];
  });
  const others = topology.routers.filter(({ name }) => name !== router.name);
  const isTwin = ({ legs }: LabRouter) =>
    [...legs.keys()].some((subnet) => router.legs.has(subnet));
  const speaking = others.flatMap((other): Neighbour[] => {
    const { name, address, asn, software } = other;
    if (isTwin(other) || asn === undefined || software === 'none') return [];
    return [{ name, address, asn, kind: 'router' }];
  });
  const cidrs = (family: Family) =>
    topology.subnets.flatMap(({ name, cidrs: own }) =>
      router.legs.has(name) && own[family] !== undefined ? [own[family]] : [],
    );
  return {
    router,
    asn: router.asn ?? 0,
    neighbours: [...nodes, ...speaking],
    families: families.filter((family) => topology.subnets.some((one) => one.cidrs[family])),
    subnets: { ipv4: cidrs('ipv4'), ipv6: cidrs('ipv6') },
    med: topology.routers.slice(0, topology.routers.indexOf(router)).filter(isTwin).length * 100,
    others: others.map(({ address }) => address),
    stations: topology.witness ? [1, 2].map(stationOf) : [],
  };
}
