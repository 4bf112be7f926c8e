/**
 * The cables of the site. Nodes and routers have addresses that exist nowhere;
 * BGP between them runs over real TCP on loopback. A router listens on a port of
 * its own, a node connects from a loopback address of its own: that is how the
 * router knows which node it is.
 */
import type { PeerSettings } from '../model/peer-settings.ts';
import { parseAddress } from '../net/address.ts';
import type { Family } from '../net/family.ts';

export interface Socket {
  host: string;
  port: number;
}

export class Cabling {
  /** Router's address at the site → where it listens. */
  readonly #routers = new Map<string, Socket>();
  /** Loopback address → node. */
  readonly #nodes = new Map<string, string>();
  readonly #loopbacks = new Map<string, string>();
  readonly #addresses = new Map<string, readonly string[]>();
  #next = 0;

  plugRouter(address: string, socket: Socket): void {
    this.#routers.set(address, socket);
  }

  /** The same address for the same node, as long as this process lives. */
  plugNode(name: string): string {
    const known = this.#loopbacks.get(name);
    if (known !== undefined) return known;
    // 127.77.0.0/16 without the ends; a node that went leaves its address unused.
    const index = this.#next++ % 64_000;
    const loopback = `127.77.${Math.floor(index / 250)}.${(index % 250) + 2}`;
    this.#loopbacks.set(name, loopback);
    this.#nodes.set(loopback, name);
    return loopback;
  }

  unplugNode(name: string): void {
    const loopback = this.#loopbacks.get(name);
    this.#loopbacks.delete(name);
    this.#addresses.delete(name);
    if (loopback !== undefined) this.#nodes.delete(loopback);
  }

  nodeAt(loopback: string): string | undefined {
    return this.#nodes.get(loopback);
  }

  /** The addresses that a node with sessions has at the site. */
  addressesOf(name: string): readonly string[] {
    return this.#addresses.get(name) ?? [];
  }

  /** A peer as the node's agent wants it, as it can be dialled here. */
  dialled(
    settings: PeerSettings,
    node: { name: string; addresses: readonly string[] },
  ): PeerSettings {
    const socket = this.#routers.get(settings.address);
    if (socket === undefined) return settings;
    this.#addresses.set(node.name, node.addresses);
    return {
      ...settings,
      name: settings.name ?? settings.address,
      address: socket.host,
      port: socket.port,
      localAddress: this.plugNode(node.name),
      // The session's own address is a loopback one, which is no next hop at the site.
      nextHop: { ...nextHopsOf(node.addresses), ...settings.nextHop },
      // A router that comes back should be found while one watches.
      maxIdleSeconds: 3,
    };
  }

  /** The site's address of a router, from where it listens. */
  siteAddress(host: string): string {
    for (const [address, socket] of this.#routers) if (socket.host === host) return address;
    return host;
  }
}

/** The first address of each family. */
function nextHopsOf(addresses: readonly string[]): Partial<Record<Family, string>> {
  const found: Partial<Record<Family, string>> = {};
  for (const text of addresses) {
    const family = parseAddress(text)?.family;
    if (family !== undefined) found[family] ??= text;
  }
  return found;
}
