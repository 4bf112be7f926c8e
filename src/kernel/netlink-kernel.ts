/**
 * The real kernel, over rtnetlink. Holds one descriptor of its namespace and a
 * few sockets in it; keeps no copy of the kernel's state, so there is nothing to
 * go stale: every declaration is compared with a fresh reading.
 */
import type { Address } from '../net/address.ts';
import type { Kernel, KernelEvent, RouteFilter, RouteOutcome, Setting } from './kernel.ts';
import { isErrno, KernelError } from './kernel-error.ts';
import {
  assertOurLink,
  type ForwardingEntry,
  isLinkLocal,
  type Link,
  type LinkAddress,
  type LinkChange,
  type LinkNeighbour,
  type TunnelSpec,
  type VethSpec,
} from './link.ts';
import type { MasqueradeRules } from './masquerade.ts';
import {
  addAddress,
  listAddresses,
  readAddress,
  removeAddress,
} from './netlink/address-messages.ts';
import { findLink, needLink } from './netlink/find-link.ts';
import { listLinks, newTunnel, newVeth, readLink, setLink } from './netlink/link-messages.ts';
import { LinkRemover } from './netlink/link-remover.ts';
import type { Request } from './netlink/message.ts';
import { Monitor } from './netlink/monitor.ts';
import {
  closeNamespace,
  isSameNamespace,
  namespaceExists,
  openNamespace,
} from './netlink/namespace.ts';
import {
  listForwardingEntries,
  listNeighbours,
  readForwardingEntry,
  readNeighbour,
  removeForwardingEntry,
  removeNeighbour,
  setForwardingEntry,
  setNeighbour,
} from './netlink/neighbour-messages.ts';
import { applyMasquerade, listMasquerade } from './netlink/nft.ts';
import { repairPod } from './netlink/repair-pod.ts';
import { applyRoutes, heldRoutes } from './netlink/routes.ts';
import { KernelSettings } from './netlink/settings.ts';
import { SocketPool } from './netlink/socket.ts';
import { wirePod } from './netlink/wire-pod.ts';
import type { PodCheck, PodPlace, PodWiring, WiredPod } from './pod.ts';
import { comparePod, type PodEnd } from './pod-check.ts';
import { type KernelRoute, nodeRouteProtocol, type RouteSpec } from './route.ts';

export class NetlinkKernel implements Kernel {
  readonly #namespacePath: string | undefined;
  readonly #namespaceFd: number | undefined;
  readonly #sockets: SocketPool;
  readonly #remover: LinkRemover;
  readonly #settings: KernelSettings;
  readonly #monitors = new Set<Monitor>();

  /** For the namespace at `netnsPath`; absent: the one this process is in. */
  constructor({
    netnsPath,
    procSysNet,
  }: {
    netnsPath?: string | undefined;
    procSysNet?: string | undefined;
  } = {}) {
    this.#namespacePath = netnsPath;
    this.#namespaceFd = netnsPath === undefined ? undefined : openNamespace(netnsPath);
    this.#sockets = new SocketPool(this.#namespaceFd);
    this.#remover = new LinkRemover(this.#sockets);
    this.#settings = new KernelSettings(procSysNet);
  }

  links(): Promise<Link[]> {
    return this.#sockets.use((socket) => socket.dump(listLinks(), readLink));
  }

  link(name: string): Promise<Link | undefined> {
    return this.#sockets.use((socket) => findLink(socket, name));
  }

  async createVeth(spec: VethSpec): Promise<Link> {
    assertOurLink(spec.name);
    const { peerNetnsPath } = spec;
    const peerFd = peerNetnsPath === undefined ? undefined : openNamespace(peerNetnsPath);
    try {
      return await this.#create(spec.name, newVeth(spec, peerFd));
    } finally {
      if (peerFd !== undefined) closeNamespace(peerFd);
    }
  }

  async createTunnel(spec: TunnelSpec): Promise<Link> {
    assertOurLink(spec.name);
    try {
      return await this.#create(spec.name, newTunnel(spec));
    } catch (error) {
      if (!isErrno(error, 'EOPNOTSUPP')) throw error;
      throw new KernelError(`create the ${spec.kind} interface ${spec.name}`, error.errno, {
        code: 'KERNEL_LACKS',
        detail: `this kernel has no ${spec.kind}`,
        remedy: `Load the module (modprobe ${spec.kind}), or choose another encapsulation.`,
      });
    }
  }

  async changeLink(name: string, change: LinkChange): Promise<void> {
    assertOurLink(name);
    await this.#sockets.use(async (socket) => {
      await socket.run([setLink(await needLink(socket, name), change)]);
    });
  }

  async deleteLink(name: string): Promise<boolean> {
    assertOurLink(name);
    return this.#remover.remove(name);
  }

  async addresses(): Promise<Map<string, LinkAddress[]>> {
    return this.#sockets.use(async (socket) => {
      const links = await socket.dump(listLinks(), readLink);
      const held = await socket.dump(listAddresses(), readAddress);
      return new Map(
        links.map(({ index, name }) => [
          name,
          held
            .filter(({ linkIndex }) => linkIndex === index)
            .map(({ address, length }) => ({ address, length })),
        ]),
      );
    });
  }

  async setAddresses(linkName: string, all: readonly LinkAddress[]): Promise<number> {
    assertOurLink(linkName);
    return this.#sockets.use(async (socket) => {
      const link = await needLink(socket, linkName);
      const text = ({ address, length }: LinkAddress) => `${address}/${length}`;
      const wanted = new Set(all.map(text));
      let changed = 0;
      // An IPv4 address takes those with it that were added to its network later, also wanted ones.
      for (let round = 0; round < 3; round++) {
        const everywhere = await socket.dump(listAddresses(), readAddress);
        const held = everywhere.filter(({ linkIndex }) => linkIndex === link.index);
        const present = new Set(held.map(text));
        const steps = [
          ...held
            .filter((each) => !wanted.has(text(each)) && !isLinkLocal(each.address))
            .map((each) => removeAddress(link, each)),
          ...all.filter((each) => !present.has(text(each))).map((each) => addAddress(link, each)),
        ];
        if (steps.length === 0) break;
        changed += steps.length;
        if (round === 2) await socket.run(steps);
        // Taking one away may find it gone already: look again before complaining.
        else await socket.exchange(steps);
      }
      return changed;
    });
  }

  routes(filter: RouteFilter = {}): Promise<KernelRoute[]> {
    return this.#sockets.use((socket) => heldRoutes(socket, filter));
  }

  setRoutes(all: readonly RouteSpec[], protocol = nodeRouteProtocol): Promise<RouteOutcome> {
    return this.#sockets.use((socket) => applyRoutes(socket, all, protocol));
  }

  async neighbours(linkName: string): Promise<LinkNeighbour[]> {
    return this.#sockets.use(async (socket) => {
      const link = await needLink(socket, linkName);
      return socket.dump(listNeighbours(link), (message) => readNeighbour(message, link));
    });
  }

  async setNeighbours(linkName: string, all: readonly LinkNeighbour[]): Promise<number> {
    assertOurLink(linkName);
    return this.#sockets.use(async (socket) => {
      const link = await needLink(socket, linkName);
      const held = await socket.dump(listNeighbours(link), (m) => readNeighbour(m, link));
      const macs = new Map(held.map((each) => [String(each.address), each.mac]));
      const wanted = new Set(all.map(({ address }) => String(address)));
      const steps = [
        ...all
          .filter((each) => macs.get(String(each.address)) !== each.mac.toLowerCase())
          .map((each) => setNeighbour(link, each)),
        ...held
          .filter(({ address }) => !wanted.has(String(address)) && !isMulticast(address))
          .map((each) => removeNeighbour(link, each)),
      ];
      await socket.run(steps);
      return steps.length;
    });
  }

  async forwardingEntries(linkName: string): Promise<ForwardingEntry[]> {
    return this.#sockets.use(async (socket) => {
      const link = await needLink(socket, linkName);
      return socket.dump(listForwardingEntries(link), (m) => readForwardingEntry(m, link));
    });
  }

  async setForwardingEntries(linkName: string, all: readonly ForwardingEntry[]): Promise<number> {
    assertOurLink(linkName);
    return this.#sockets.use(async (socket) => {
      const link = await needLink(socket, linkName);
      const held = await socket.dump(listForwardingEntries(link), (m) =>
        readForwardingEntry(m, link),
      );
      const remotes = new Map(held.map(({ mac, remote }) => [mac, String(remote)]));
      const wanted = new Set(all.map(({ mac }) => mac.toLowerCase()));
      const steps = [
        ...all
          .filter((each) => remotes.get(each.mac.toLowerCase()) !== String(each.remote))
          .map((each) => setForwardingEntry(link, each)),
        ...held
          .filter(({ mac }) => !wanted.has(mac))
          .map((each) => removeForwardingEntry(link, each)),
      ];
      await socket.run(steps);
      return steps.length;
    });
  }

  async readSetting(setting: Setting): Promise<number> {
    return this.#settings.read(this.#namespaceFd, setting);
  }

  async writeSetting(setting: Setting, value: number): Promise<void> {
    this.#settings.write(this.#namespaceFd, setting, value);
  }

  async hasNamespace(path: string): Promise<boolean> {
    return namespaceExists(path);
  }

  async isOwnNamespace(path: string): Promise<boolean> {
    return isSameNamespace(path, this.#namespacePath);
  }

  wirePod(wiring: PodWiring): Promise<WiredPod> {
    return wirePod(this.#sockets, this.#settings, wiring);
  }

  unwirePod({ hostIfName }: PodPlace): Promise<boolean> {
    return this.deleteLink(hostIfName);
  }

  async checkPod(wiring: PodWiring): Promise<PodCheck> {
    const host = await this.#end(wiring.hostIfName);
    if (!namespaceExists(wiring.netnsPath)) return comparePod(wiring, host, 'no namespace');
    const inside = new NetlinkKernel({ netnsPath: wiring.netnsPath });
    try {
      return comparePod(wiring, host, await inside.#end(wiring.ifName));
    } finally {
      inside.close();
    }
  }

  repairPod(wiring: PodWiring): Promise<void> {
    return repairPod(this.#sockets, wiring);
  }

  setMasquerade(rules: MasqueradeRules | undefined): Promise<void> {
    return applyMasquerade(this.#namespacePath, rules);
  }

  masquerade(): Promise<MasqueradeRules | 'changed' | undefined> {
    return listMasquerade(this.#namespacePath);
  }

  watch(listener: (event: KernelEvent) => void): () => void {
    const monitor = new Monitor(this.#namespaceFd, this.#sockets, listener);
    this.#monitors.add(monitor);
    return () => {
      this.#monitors.delete(monitor);
      monitor.stop();
    };
  }

  close(): void {
    for (const monitor of this.#monitors) monitor.stop();
    this.#monitors.clear();
    this.#sockets.close();
    if (this.#namespaceFd !== undefined) closeNamespace(this.#namespaceFd);
  }

  async #create(name: string, creation: Request): Promise<Link> {
    return this.#sockets.use(async (socket) => {
      try {
        await socket.run([creation]);
      } catch (error) {
        if (!isErrno(error, 'EEXIST')) throw error;
        throw new KernelError(creation.what, error.errno, { code: 'LINK_EXISTS' });
      }
      return needLink(socket, name);
    });
  }

  async #end(name: string): Promise<PodEnd | undefined> {
    const link = await this.link(name);
    if (!link) return undefined;
    return {
      link,
      addresses: (await this.addresses()).get(name) ?? [],
      routes: await this.routes(),
    };
  }
}

/** The kernel itself keeps permanent entries for groups: 224.0.0.0/4 and ff00::/8. */
function isMulticast({ family, w0 }: Address): boolean {
  return family === 'ipv4' ? w0 >>> 28 === 14 : w0 >>> 24 === 255;
}
