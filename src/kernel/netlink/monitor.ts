/**
 * Changes as the kernel reports them (netlink multicast), whoever made them.
 *
 * The socket is read on a timer. Node cannot wait for a netlink descriptor,
 * and a blocking read would keep one of its few worker threads for ever; an
 * empty read costs two microseconds, ten times a second. The socket is open
 * from the start, so nothing is missed between two readings, only reported later.
 *
 * The kernel says nothing of IPv4 routes that go because their interface went:
 * a removed interface stands for its routes.
 */
import type { KernelEvent } from '../kernel.ts';
import { RTM_DELADDR, RTM_NEWADDR, readAddress } from './address-messages.ts';
import { listLinks, RTM_DELLINK, RTM_NEWLINK, readLink } from './link-messages.ts';
import type { NetlinkMessage } from './message.ts';
import { RTM_DELROUTE, RTM_NEWROUTE, readRoute } from './route-messages.ts';
import { NetlinkSocket, type SocketPool } from './socket.ts';

const RTMGRP_LINK = 0x1;
const RTMGRP_IPV4_IFADDR = 0x10;
const RTMGRP_IPV4_ROUTE = 0x40;
const RTMGRP_IPV6_IFADDR = 0x100;
const RTMGRP_IPV6_ROUTE = 0x400;
const groups =
  RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE;

const readEveryMs = 100;

export class Monitor {
  readonly #socket: NetlinkSocket;
  readonly #listener: (event: KernelEvent) => void;
  readonly #names = new Map<number, string>();
  readonly #ready: Promise<void>;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    namespaceFd: number | undefined,
    sockets: SocketPool,
    listener: (event: KernelEvent) => void,
  ) {
    this.#listener = listener;
    this.#socket = new NetlinkSocket(namespaceFd, groups);
    this.#ready = this.#learnNames(sockets).catch(() => undefined);
    this.#timer = setTimeout(() => void this.#turn(), readEveryMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#socket.close();
  }

  /** An interface that could not be looked up is named by its number. */
  async #learnNames(sockets: SocketPool): Promise<void> {
    const links = await sockets.use((socket) => socket.dump(listLinks(), readLink));
    for (const link of links) this.#names.set(link.index, link.name);
  }

  async #turn(): Promise<void> {
    try {
      await this.#ready;
      if (this.#timer !== undefined) this.#socket.drain((message) => this.#report(message));
    } catch {
      // ENOBUFS as a rule. Whatever it was, something may have been missed, and saying so is
      // the whole remedy: the listener looks at everything.
      if (this.#timer !== undefined) this.#listener({ kind: 'overrun' });
    }
    if (this.#timer !== undefined) {
      this.#timer = setTimeout(() => void this.#turn(), readEveryMs).unref();
    }
  }

  #report(message: NetlinkMessage): void {
    const event = this.#eventOf(message);
    // The listener may have stopped in the middle of a buffer.
    if (event && this.#timer !== undefined) this.#listener(event);
  }

  #eventOf(message: NetlinkMessage): KernelEvent | undefined {
    switch (message.type) {
      case RTM_NEWLINK:
      case RTM_DELLINK: {
        const link = readLink(message);
        const isSet = message.type === RTM_NEWLINK;
        if (isSet) this.#names.set(link.index, link.name);
        return { kind: 'link', change: isSet ? 'set' : 'removed', link };
      }
      case RTM_NEWADDR:
      case RTM_DELADDR: {
        const held = readAddress(message);
        if (!held) return undefined;
        return {
          kind: 'address',
          change: message.type === RTM_NEWADDR ? 'set' : 'removed',
          linkName: this.#names.get(held.linkIndex) ?? `if${held.linkIndex}`,
          address: held.address,
        };
      }
      case RTM_NEWROUTE:
      case RTM_DELROUTE: {
        const route = readRoute(message, this.#names);
        const change = message.type === RTM_NEWROUTE ? 'set' : 'removed';
        return route && { kind: 'route', change, route };
      }
      default:
        return undefined;
    }
  }
}
