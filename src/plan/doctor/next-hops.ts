import { parseAddress } from '../../net/address.ts';
import { compareText } from '../pools/pool-set.ts';
import type { Evidence } from './evidence.ts';

/** Where a next hop leads: to a live node, to another router, or nowhere we know. */
export type Hop =
  | { kind: 'node'; node: string }
  | { kind: 'router'; router: string }
  /** The router's own: connected, static, an aggregate. */
  | { kind: 'own' }
  | { kind: 'unknown' }
  /** A link-local address or an interface, and the table does not say whose: not judged. */
  | { kind: 'unseen' };

const own: Hop = { kind: 'own' };
const unknown: Hop = { kind: 'unknown' };
const unseen: Hop = { kind: 'unseen' };

/**
 * A next hop is matched to a node by the node's addresses, and to a router by
 * the addresses that dumps and the peers' configuration give. A link-local next
 * hop says nothing by itself; then whoever advertised the route decides.
 */
export class NextHops {
  readonly #hops = new Map<string, Hop>();
  readonly #addressOf = new Map<string, string>();

  constructor({ nodes, routers, peers }: Evidence) {
    for (const { address, name } of peers) {
      this.#put(address, { kind: 'router', router: name });
    }
    for (const { router, addresses } of routers) {
      for (const address of addresses) this.#put(address, { kind: 'router', router });
    }
    // Last, and in order: an address that is a node's is a node's, whoever else claims it.
    for (const { name, addresses } of [...nodes].sort((a, b) => compareText(b.name, a.name))) {
      for (const address of addresses) this.#put(address, { kind: 'node', node: name });
      const [first] = addresses;
      if (first !== undefined) this.#addressOf.set(name, first);
    }
  }

  #put(address: string, hop: Hop): void {
    this.#hops.set(canonicalAddress(address), hop);
  }

  of({ nextHop, from }: NamedHop): Hop {
    if (nextHop === '') return own;
    const found = this.#hops.get(nextHop);
    if (found !== undefined) return found;
    if (isNameless({ nextHop, from })) return unseen;
    return from !== undefined && isLinkLocal(nextHop) ? (this.#hops.get(from) ?? unknown) : unknown;
  }

  /** The router that has this address, by the name its dump was given. */
  routerAt(address: string): string | undefined {
    const hop = this.#hops.get(canonicalAddress(address));
    return hop?.kind === 'router' ? hop.router : undefined;
  }

  addressOf(node: string): string {
    return this.#addressOf.get(node) ?? '';
  }
}

export function canonicalAddress(text: string): string {
  return parseAddress(text)?.toString() ?? text;
}

type NamedHop = { nextHop: string; from?: string | undefined };

const isLinkLocal = (nextHop: string) => /^fe[89ab]/i.test(nextHop);

/** A routing table gives only the link for these; who it is on that link, nothing says. */
export function isNameless({ nextHop, from }: NamedHop): boolean {
  if (nextHop === '' || from !== undefined) return false;
  return isLinkLocal(nextHop) || parseAddress(nextHop) === undefined;
}
