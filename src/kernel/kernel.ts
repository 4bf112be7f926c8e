/**
 * The driver of Linux networking: interfaces, addresses, routes, neighbours, namespaces and
 * masquerade. It decides nothing. Whoever holds a `Kernel` states what should
 * be, and the kernel is brought there.
 *
 * - **Declared, not stepped.** `setRoutes`, `setNeighbours`, `setAddresses`,
 *   `setForwardingEntries` and `setMasquerade` take the whole; the difference
 *   is worked out against what the kernel holds at that moment. Saying the
 *   same twice changes nothing.
 * - **Only ours.** Routes with our protocol numbers (route.ts), interfaces with
 *   our prefix (link.ts), one nftables table. A route that another program has put in
 *   a place we want is reported as refused and left alone.
 * - **Two of a kind.** `NetlinkKernel` speaks rtnetlink, `FakeKernel` keeps it in
 *   memory; test/kernel/contract.ts holds both to the same cases.
 * - **One namespace each.** A `Kernel` is bound to the network namespace it was
 *   opened for. Pods' namespaces are entered by path, for one operation.
 *
 * In: declarations from the agent. Out: what is held, and `watch`, which says
 * that something changed, by whomever, so that the agent can declare again.
 */
import type { Address } from '../net/address.ts';
import type { Family } from '../net/family.ts';
import type {
  ForwardingEntry,
  Link,
  LinkAddress,
  LinkChange,
  LinkNeighbour,
  TunnelSpec,
  VethSpec,
} from './link.ts';
import type { MasqueradeRules } from './masquerade.ts';
import type { PodCheck, PodPlace, PodWiring, WiredPod } from './pod.ts';
import type { KernelRoute, RouteSpec } from './route.ts';

export interface Kernel {
  links(): Promise<Link[]>;
  link(name: string): Promise<Link | undefined>;
  createVeth(spec: VethSpec): Promise<Link>;
  createTunnel(spec: TunnelSpec): Promise<Link>;
  changeLink(name: string, change: LinkChange): Promise<void>;
  /** Whether there was one. Its routes, addresses and neighbours go with it. */
  deleteLink(name: string): Promise<boolean>;

  /** Of every interface, other programs' too: by interface name. */
  addresses(): Promise<Map<string, LinkAddress[]>>;
  /** All of the interface's, but for the link-local one that it gave itself. How many were changed. */
  setAddresses(linkName: string, all: readonly LinkAddress[]): Promise<number>;

  routes(filter?: RouteFilter): Promise<KernelRoute[]>;
  /** Everything that carries the protocol number (nodeRouteProtocol unless said otherwise). */
  setRoutes(all: readonly RouteSpec[], protocol?: number): Promise<RouteOutcome>;

  /** The permanent ones. */
  neighbours(linkName: string): Promise<LinkNeighbour[]>;
  /** How many were changed. */
  setNeighbours(linkName: string, all: readonly LinkNeighbour[]): Promise<number>;
  forwardingEntries(linkName: string): Promise<ForwardingEntry[]>;
  /** How many were changed. */
  setForwardingEntries(linkName: string, all: readonly ForwardingEntry[]): Promise<number>;

  readSetting(setting: Setting): Promise<number>;
  writeSetting(setting: Setting, value: number): Promise<void>;

  hasNamespace(path: string): Promise<boolean>;
  /** Whether it is the one this `Kernel` is bound to: no pod's. */
  isOwnNamespace(path: string): Promise<boolean>;
  /** All of it, or, after an error, nothing. */
  wirePod(wiring: PodWiring): Promise<WiredPod>;
  /** Whether there was anything. Right also when the pod's namespace is gone. */
  unwirePod(place: PodPlace): Promise<boolean>;
  checkPod(wiring: PodWiring): Promise<PodCheck>;
  /** Puts back what the host's end has lost; the pod's own end is the pod's business. */
  repairPod(wiring: PodWiring): Promise<void>;

  /** Replaces our table as a whole; undefined removes it. */
  setMasquerade(rules: MasqueradeRules | undefined): Promise<void>;
  /** In the fewest prefixes. Undefined: there is no table; `changed`: one that is not as we make it. */
  masquerade(): Promise<MasqueradeRules | 'changed' | undefined>;

  /** Calls back on every change, ours too, until the returned function is called. */
  watch(listener: (event: KernelEvent) => void): () => void;
  close(): void;
}

export interface RouteFilter {
  protocol?: number;
  table?: number;
  family?: Family;
}

export interface RouteOutcome {
  added: number;
  replaced: number;
  removed: number;
  unchanged: number;
  refused: RefusedRoute[];
}

export interface RefusedRoute {
  route: RouteSpec;
  /** `Taken`: somebody else's route has this place. `Unusable`: the kernel's own reason. */
  reason: 'Taken' | 'Unusable';
  detail: string;
}

/** A number under /proc/sys/net. */
export type Setting =
  | { kind: 'forwarding'; family: Family }
  | { kind: 'reversePathFilter' | 'proxyArp' | 'proxyNdp' | 'disableIpv6'; link: string };

export type KernelEvent =
  | { kind: 'link'; change: 'set' | 'removed'; link: Link }
  | { kind: 'address'; change: 'set' | 'removed'; linkName: string; address: Address }
  | { kind: 'route'; change: 'set' | 'removed'; route: KernelRoute }
  /** Events were lost: compare everything. */
  | { kind: 'overrun' };
