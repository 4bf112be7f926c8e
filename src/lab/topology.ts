/**
 * The room's essay. `lab` builds a whole site: racks, gateways, routers and an
 * outside host, each a network namespace of this machine, with the real operator
 * and agents in it.
 *
 *   topology (YAML) ─▶ layout (pure) ─▶ namespaces, links, addresses
 *                          │
 *                          ├─▶ routers/   FRR, BIRD, or our own collector
 *                          ├─▶ cluster/   API server, objects, operators, agents
 *                          └─▶ pods       wired by the agents, as the CNI plugin asks them to
 *   replay/   stories: steps, what is expected, and what the packets said
 *
 * Every process of a lab runs inside one of its namespaces, and the names of the
 * namespaces are written down before the first one is made. So `down` needs no
 * memory of what was started: it ends what lives in those namespaces, removes
 * them (their links go with them) and the one folder. That holds after a crash
 * at any moment, and for what a person started by `lab exec`.
 *
 * No address of a lab is ever on the machine itself. Nodes reach the API server
 * over a management network (mgmt0) that has nothing to do with the story.
 */
import type { LabelSelector } from '../model/label-selector.ts';
import type { Mode } from '../model/modes.ts';
import type { Family } from '../net/family.ts';
import type { Routing } from '../plan/node/desired-routes.ts';

export const softwares = ['frr', 'bird', 'own', 'none'] as const;
/** `own`: our collector with kernel routes. `none`: forwards, and speaks no BGP. */
export type Software = (typeof softwares)[number];

/** One address a family at most. */
export type Addresses = Partial<Record<Family, string>>;

export interface Subnet {
  readonly name: string;
  readonly cidrs: Addresses;
  readonly gateways: Addresses;
}

export interface LabRouter {
  readonly name: string;
  /** The loopback address: its peering address and router id. */
  readonly address: string;
  readonly asn: number | undefined;
  /** Absent: whatever the machine has. */
  readonly software: Software | undefined;
  /** Its own address in every subnet it is connected to. */
  readonly legs: ReadonlyMap<string, Addresses>;
}

export interface LabNode {
  readonly name: string;
  readonly subnet: string;
  readonly addresses: Addresses;
  readonly labels: Readonly<Record<string, string>>;
  /** How many pods `lab up` starts on it. */
  readonly pods: number;
  /** Switched off and not in the cluster, until a story has it join. */
  readonly isSpare: boolean;
  /** What a second allocator has written into Node.spec.podCIDRs. */
  readonly podCidr: string | undefined;
  /** What the node holds by its CiliumNode. */
  readonly ciliumPodCidr: string | undefined;
}

export interface LabPeer {
  readonly router: string;
  /** The nodes' AS. */
  readonly asn: number;
  readonly nodeSelector: LabelSelector | undefined;
}

export interface LabPool {
  readonly name: string;
  /** The spec of an IPPool, as it stands. */
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Topology {
  readonly name: string;
  readonly about: string;
  readonly mode: Mode;
  readonly clusterPool: { readonly cidr: string; readonly maskSize: number } | undefined;
  readonly cooldownSeconds: number | undefined;
  /** Of the agents; absent: as they have it. */
  readonly reconfirmAfterSeconds: number | undefined;
  /** The routers report to the operators what they hold. */
  readonly witness: boolean;
  readonly routing: Routing;
  readonly subnets: readonly Subnet[];
  readonly outside: { readonly subnet: string; readonly addresses: Addresses };
  readonly routers: readonly LabRouter[];
  readonly nodes: readonly LabNode[];
  readonly pools: readonly LabPool[];
  readonly peers: readonly LabPeer[];
}

/** The router that has a subnet's gateway address until another takes it over. */
export function gatewayRouter(topology: Topology, subnet: string): LabRouter | undefined {
  return topology.routers.find(({ legs }) => legs.has(subnet));
}

/** Without peers no router has a route to a pod, and nobody outside can reach one. */
export function isReachableFromOutside(topology: Topology): boolean {
  return topology.peers.length > 0;
}
