import { parseAddress } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';
import { parsePrefix } from '../net/prefix.ts';
import type { HeardRouter } from '../plan/blocks/heard-routers.ts';
import { GoneTimes } from '../witness/gone-times.ts';

/**
 * What the operator of the site hears of one of its routers, as it would over BMP: the router
 * is ours, so its table is known from its start on. A session counts by the addresses that
 * the node has at the site, which its Node may have lost by the time it is asked for.
 */
export class HeardDemoRouter {
  readonly #now: () => number;
  readonly #startedMs: number;
  readonly #goneRoutes = new GoneTimes<Prefix>();
  readonly #goneSessions = new GoneTimes<string>();
  readonly #sessions = new Map<string, readonly string[]>();

  constructor(now: () => number) {
    this.#now = now;
    this.#startedMs = now();
  }

  sessionUp(peer: string, addresses: readonly string[]): void {
    this.#sessions.set(peer, addresses.map(canonical));
  }

  sessionDown(peer: string): void {
    for (const one of this.#sessions.get(peer) ?? []) this.#goneSessions.note(one, this.#now());
    this.#sessions.delete(peer);
  }

  routeGone(text: string): void {
    const prefix = parsePrefix(text);
    if (prefix !== undefined) this.#goneRoutes.note(prefix, this.#now());
  }

  as(name: string, address: string, holds: (prefix: Prefix) => boolean): HeardRouter {
    const since = this.#startedMs;
    return {
      name,
      addresses: new Set([address]),
      by: 'bmp',
      completeSinceMs: { ipv4: since, ipv6: since },
      lastRouteMs: (prefix) =>
        holds(prefix)
          ? Number.POSITIVE_INFINITY
          : this.#goneRoutes.last((gone) => prefix.contains(gone)),
      lastSessionMs: (neighbor) => {
        const wanted = canonical(neighbor);
        return [...this.#sessions.values()].some((addresses) => addresses.includes(wanted))
          ? Number.POSITIVE_INFINITY
          : this.#goneSessions.last((gone) => gone === wanted);
      },
    };
  }
}

function canonical(address: string): string {
  return parseAddress(address)?.toString() ?? address;
}
