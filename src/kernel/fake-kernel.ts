/**
 * A kernel in memory, for the demo on a laptop without root, and for tests. It
 * passes the cases of the real one (test/kernel/contract.ts). It forwards no
 * packets. `addNamespace` and `removeNamespace` stand for the container
 * runtime, `inside` for entering a namespace.
 */

import { type FakeLink, FakeNamespace, plainLink } from './fake/fake-namespace.ts';
import {
  fakeEnd,
  linkExists,
  namespaceGone,
  repairFakePod,
  wireFakePod,
} from './fake/fake-pods.ts';
import type { Kernel, KernelEvent, RouteFilter, RouteOutcome, Setting } from './kernel.ts';
import { KernelError } from './kernel-error.ts';
import {
  assertOurLink,
  derivedMac,
  type ForwardingEntry,
  type Link,
  type LinkAddress,
  type LinkChange,
  type LinkNeighbour,
  type TunnelSpec,
  tunnelPorts,
  type VethSpec,
} from './link.ts';
import { inFewestPrefixes, type MasqueradeRules } from './masquerade.ts';
import type { PodCheck, PodPlace, PodWiring, WiredPod } from './pod.ts';
import { comparePod } from './pod-check.ts';
import { type KernelRoute, nodeRouteProtocol, type RouteSpec } from './route.ts';
import { routeDelta } from './route-delta.ts';

const defaultMtu = 1500;

export class FakeKernel implements Kernel {
  readonly #namespaces: Map<string, FakeNamespace>;
  readonly #own: FakeNamespace;

  constructor(namespaces = new Map<string, FakeNamespace>(), own = new FakeNamespace()) {
    this.#namespaces = namespaces;
    this.#own = own;
  }

  addNamespace(path: string): void {
    this.#namespaces.set(path, new FakeNamespace());
  }

  /** With every interface in it, and the other ends of those. */
  removeNamespace(path: string): void {
    this.#namespaces.get(path)?.destroy();
    this.#namespaces.delete(path);
  }

  /** The same world, seen from another namespace. */
  inside(path: string): FakeKernel {
    return new FakeKernel(this.#namespaces, this.#namespace(path));
  }

  async links(): Promise<Link[]> {
    return [...this.#own.links.values()].map(plainLink);
  }

  async link(name: string): Promise<Link | undefined> {
    const link = this.#own.links.get(name);
    return link && plainLink(link);
  }

  async createVeth(spec: VethSpec): Promise<Link> {
    assertOurLink(spec.name);
    const { name, peerName, peerNetnsPath, mtu = defaultMtu } = spec;
    const far = peerNetnsPath === undefined ? this.#own : this.#namespace(peerNetnsPath);
    if (this.#own.links.has(name)) throw linkExists(name);
    if (far.links.has(peerName)) throw linkExists(peerName);
    const mac = (spec.mac ?? derivedMac(`near ${name}`)).toLowerCase();
    const peerMac = (spec.peerMac ?? derivedMac(`far ${name}`)).toLowerCase();
    const link = this.#own.addLink({ name, kind: 'veth', mac, mtu });
    const peer = far.addLink({ name: peerName, kind: 'veth', mac: peerMac, mtu });
    link.peer = { namespace: far, name: peerName };
    peer.peer = { namespace: this.#own, name };
    return plainLink(link);
  }

  async createTunnel(spec: TunnelSpec): Promise<Link> {
    assertOurLink(spec.name);
    const { name, kind, local } = spec;
    if (this.#own.links.has(name)) throw linkExists(name);
    const isExternal = kind === 'geneve' || spec.isExternal === true;
    const tunnel = {
      vni: isExternal ? 0 : (spec.vni ?? 1),
      port: spec.port ?? tunnelPorts[kind],
      isExternal,
      ...(local ? { local } : {}),
    };
    const mac = (spec.mac ?? derivedMac(`tunnel ${name}`)).toLowerCase();
    const mtu = spec.mtu ?? defaultMtu - 50;
    return plainLink(this.#own.addLink({ name, kind, mac, mtu, tunnel }));
  }

  async changeLink(name: string, { isUp, mtu, mac }: LinkChange): Promise<void> {
    const link = this.#ours(name);
    if (mtu !== undefined) link.mtu = mtu;
    if (mac !== undefined) link.mac = mac.toLowerCase();
    this.#own.setUp(link, isUp ?? link.isUp);
  }

  async deleteLink(name: string): Promise<boolean> {
    assertOurLink(name);
    return this.#own.removeLink(name);
  }

  async addresses(): Promise<Map<string, LinkAddress[]>> {
    return new Map([...this.#own.links].map(([name, link]) => [name, [...link.addresses]]));
  }

  async setAddresses(linkName: string, all: readonly LinkAddress[]): Promise<number> {
    const link = this.#ours(linkName);
    const text = ({ address, length }: LinkAddress) => `${address}/${length}`;
    const changed = differences(new Set(link.addresses.map(text)), new Set(all.map(text)));
    link.addresses = [...all];
    for (const { address } of all) {
      this.#own.emit({ kind: 'address', change: 'set', linkName, address });
    }
    return changed;
  }

  async routes({ protocol, table, family }: RouteFilter = {}): Promise<KernelRoute[]> {
    return [...this.#own.routes.values()].filter(
      (route) =>
        (protocol === undefined || route.protocol === protocol) &&
        (table === undefined || route.table === table) &&
        (family === undefined || route.prefix.family === family),
    );
  }

  async setRoutes(all: readonly RouteSpec[], protocol = nodeRouteProtocol): Promise<RouteOutcome> {
    const delta = routeDelta(all, [...this.#own.routes.values()], protocol);
    const outcome: RouteOutcome = {
      added: 0,
      replaced: 0,
      removed: delta.remove.length,
      unchanged: delta.unchanged,
      refused: [],
    };
    const put = (route: RouteSpec, step: 'added' | 'replaced') => {
      const held: KernelRoute = { ...route, protocol };
      const errno = this.#own.objection(held, step === 'replaced');
      if (errno === undefined) {
        this.#own.putRoute(held);
        outcome[step]++;
        return;
      }
      const reason = errno === 'EEXIST' ? 'Taken' : 'Unusable';
      outcome.refused.push({ route, reason, detail: errno });
    };
    for (const route of delta.replace) put(route, 'replaced');
    for (const route of delta.add) put(route, 'added');
    for (const route of delta.remove) this.#own.dropRoute(route);
    return outcome;
  }

  async neighbours(linkName: string): Promise<LinkNeighbour[]> {
    return [...this.#any(linkName).neighbours.values()];
  }

  async setNeighbours(linkName: string, all: readonly LinkNeighbour[]): Promise<number> {
    const link = this.#ours(linkName);
    const text = ({ address, mac }: LinkNeighbour) => `${address} ${mac}`;
    const before = new Set([...link.neighbours.values()].map(text));
    link.neighbours = new Map(
      all.map(({ address, mac }) => [String(address), { address, mac: mac.toLowerCase() }]),
    );
    return differences(before, new Set([...link.neighbours.values()].map(text)));
  }

  async forwardingEntries(linkName: string): Promise<ForwardingEntry[]> {
    return [...this.#any(linkName).forwarding.values()];
  }

  async setForwardingEntries(linkName: string, all: readonly ForwardingEntry[]): Promise<number> {
    const link = this.#ours(linkName);
    const text = ({ mac, remote }: ForwardingEntry) => `${mac} ${remote}`;
    const before = new Set([...link.forwarding.values()].map(text));
    link.forwarding = new Map(
      all.map(({ mac, remote }) => [mac.toLowerCase(), { mac: mac.toLowerCase(), remote }]),
    );
    return differences(before, new Set([...link.forwarding.values()].map(text)));
  }

  async readSetting(setting: Setting): Promise<number> {
    if ('link' in setting) this.#any(setting.link);
    return this.#own.settings.get(JSON.stringify(setting)) ?? 0;
  }

  async writeSetting(setting: Setting, value: number): Promise<void> {
    if ('link' in setting) this.#any(setting.link);
    this.#own.settings.set(JSON.stringify(setting), value);
  }

  async hasNamespace(path: string): Promise<boolean> {
    return this.#namespaces.has(path);
  }

  async isOwnNamespace(path: string): Promise<boolean> {
    return this.#namespaces.get(path) === this.#own;
  }

  async wirePod(wiring: PodWiring): Promise<WiredPod> {
    return wireFakePod(this.#own, this.#namespaces.get(wiring.netnsPath), wiring);
  }

  async unwirePod({ hostIfName }: PodPlace): Promise<boolean> {
    return this.deleteLink(hostIfName);
  }

  async checkPod(wiring: PodWiring): Promise<PodCheck> {
    const pod = this.#namespaces.get(wiring.netnsPath);
    return comparePod(
      wiring,
      fakeEnd(this.#own, wiring.hostIfName),
      pod ? fakeEnd(pod, wiring.ifName) : 'no namespace',
    );
  }

  async repairPod(wiring: PodWiring): Promise<void> {
    repairFakePod(this.#own, this.#any(wiring.hostIfName), wiring);
  }

  async setMasquerade(rules: MasqueradeRules | undefined): Promise<void> {
    this.#own.masquerade = rules;
  }

  async masquerade(): Promise<MasqueradeRules | 'changed' | undefined> {
    const rules = this.#own.masquerade;
    return rules && inFewestPrefixes(rules);
  }

  watch(listener: (event: KernelEvent) => void): () => void {
    const once = (event: KernelEvent) => listener(event);
    this.#own.listeners.add(once);
    return () => this.#own.listeners.delete(once);
  }

  close(): void {
    this.#own.listeners.clear();
  }

  #namespace(path: string): FakeNamespace {
    const namespace = this.#namespaces.get(path);
    if (!namespace) throw namespaceGone(path);
    return namespace;
  }

  #any(name: string): FakeLink {
    const link = this.#own.links.get(name);
    if (!link) throw new KernelError(`look for the interface ${name}`, 'ENODEV');
    return link;
  }

  #ours(name: string): FakeLink {
    assertOurLink(name);
    return this.#any(name);
  }
}

/** How many are in one and not in the other. */
function differences(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const missing = (from: ReadonlySet<string>, other: ReadonlySet<string>) =>
    [...from].filter((text) => !other.has(text)).length;
  return missing(a, b) + missing(b, a);
}
