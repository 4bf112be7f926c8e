import type { Address } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';

/**
 * Which way a packet takes, hop by hop: at every machine the longest prefix that
 * holds the address decides, as in a router and as in a kernel. What a machine
 * was not asked for is not guessed: there the way ends as not known.
 */
export interface Forwarder {
  readonly kind: 'router' | 'node';
  readonly name: string;
  readonly addresses: readonly string[];
  readonly routes: readonly ForwardingRoute[];
  /** Absent: whatever `routes` lacks it has no way to. Otherwise why that cannot be said. */
  readonly unknown?: string | undefined;
}

export interface ForwardingRoute {
  readonly prefix: Prefix;
  readonly to: ForwardTo;
}

export type ForwardTo =
  | { readonly kind: 'next-hop'; readonly address: string }
  /** It is here: a pod of this node, or the block in which its pods are. */
  | { readonly kind: 'here'; readonly pod?: string | undefined }
  | { readonly kind: 'drop' };

export interface WayHop {
  readonly kind: 'router' | 'node';
  readonly name: string;
  /** The route that decided; empty where there was none. */
  readonly prefix: string;
  /** The next hop that it names; empty at the end of the way. */
  readonly nextHop: string;
}

/**
 * `delivered` at the owner; `no-route`: a machine has no way to it; `dropped`: a node
 * has a route that says to drop it; `nowhere`: the next hop is no machine we know.
 */
export type WayEnd = 'delivered' | 'no-route' | 'dropped' | 'nowhere' | 'loop' | 'not-known';

export interface PacketWay {
  readonly hops: readonly WayHop[];
  readonly end: WayEnd;
  /** The pod it came to, where the kernel of its node was asked. */
  readonly pod?: string | undefined;
  /** In words, where it was not delivered. */
  readonly why: string;
}

/** A packet passes at most this many machines (an IP packet of the usual 64 would pass more). */
const mostHops = 16;

export class Forwarding {
  readonly #byName = new Map<string, Forwarder>();
  readonly #byAddress = new Map<string, Forwarder>();

  constructor(all: readonly Forwarder[]) {
    for (const one of all) {
      this.#byName.set(one.name, one);
      for (const address of one.addresses) this.#byAddress.set(address, one);
    }
  }

  /** From one machine on; undefined: there is no such machine. */
  way(from: string, to: Address): PacketWay | undefined {
    let at = this.#byName.get(from);
    if (at === undefined) return undefined;
    const hops: WayHop[] = [];
    const passed = new Set<Forwarder>();
    for (;;) {
      if (passed.has(at) || hops.length === mostHops) {
        return { hops, end: 'loop', why: `${at.name} has had the packet before: it goes round` };
      }
      passed.add(at);
      const { kind, name, unknown } = at;
      const route = longestMatch(at.routes, to);
      const hop = { kind, name, prefix: route?.prefix.toString() ?? '', nextHop: '' };
      if (route === undefined) {
        hops.push(hop);
        return unknown === undefined
          ? { hops, end: 'no-route', why: `${name} has no route to ${to}` }
          : { hops, end: 'not-known', why: unknown };
      }
      if (route.to.kind === 'drop') {
        hops.push(hop);
        const why = `${name} drops it: no pod of its ${route.prefix} has this address`;
        return { hops, end: 'dropped', why };
      }
      if (route.to.kind === 'here') {
        hops.push(hop);
        return { hops, end: 'delivered', pod: route.to.pod, why: '' };
      }
      const nextHop = route.to.address;
      hops.push({ ...hop, nextHop });
      const next = this.#byAddress.get(nextHop);
      if (next === undefined) {
        const why = `${name} sends ${route.prefix} to ${nextHop}, which is no node and no router`;
        return { hops, end: 'nowhere', why };
      }
      at = next;
    }
  }
}

/** It arrives, but a node passes it on that has nothing to do with it. */
export function isDetour({ hops, end }: PacketWay): boolean {
  return end === 'delivered' && hops.filter(({ kind }) => kind === 'node').length > 1;
}

export function longestMatch(
  routes: readonly ForwardingRoute[],
  address: Address,
): ForwardingRoute | undefined {
  let best: ForwardingRoute | undefined;
  for (const route of routes) {
    if (best !== undefined && route.prefix.length <= best.prefix.length) continue;
    if (route.prefix.contains(address)) best = route;
  }
  return best;
}
