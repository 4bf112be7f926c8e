/** A router: sessions with machines, the routes that came over them, and for how long it believes in both. */
import { type Prefix, parsePrefix } from '../../src/net/prefix.ts';
import type { HeardRouter } from '../../src/plan/blocks/heard-routers.ts';
import type { SimMachine } from './machine.ts';
import { limits, type Site } from './site.ts';

interface Session {
  /** When the machine was last really reached. */
  aliveMs: number;
  routes: ReadonlySet<string>;
}

export class SimRouter {
  readonly name: string;
  readonly address: string;
  /** By machine. */
  readonly sessions = new Map<SimMachine, Session>();

  constructor(name: string, index: number) {
    this.name = name;
    this.address = `198.51.100.${index + 1}`;
  }

  hasSession(machine: SimMachine): boolean {
    return this.sessions.has(machine);
  }

  /** The machine has something to say, and the way is open. */
  hear(machine: SimMachine, routes: ReadonlySet<string>, nowMs: number): void {
    this.sessions.set(machine, { aliveMs: nowMs, routes });
  }

  /** The agent closed its socket: no graceful restart, the routes go at once. */
  close(machine: SimMachine): void {
    this.sessions.delete(machine);
  }

  step({ nowMs }: Site): void {
    for (const [machine, { aliveMs }] of this.sessions) {
      if (nowMs - aliveMs > limits.holdMs) this.sessions.delete(machine);
    }
  }

  /** Who is reached by which prefix. */
  *routes(): Iterable<{ cidr: string; machine: SimMachine }> {
    for (const [machine, { routes }] of this.sessions) {
      for (const cidr of routes) yield { cidr, machine };
    }
  }
}

/** What a replica of the operator hears of a router: nothing that was before it listened. */
export class SimEar {
  readonly #router: SimRouter;
  #completeSinceMs: number | undefined;
  readonly #routeMs = new Map<string, number>();
  readonly #sessionMs = new Map<string, number>();

  constructor(router: SimRouter) {
    this.#router = router;
  }

  listen(isReached: boolean, nowMs: number): void {
    if (!isReached) {
      this.#completeSinceMs = undefined;
      return;
    }
    this.#completeSinceMs ??= nowMs;
    for (const machine of this.#router.sessions.keys()) this.#sessionMs.set(machine.address, nowMs);
    for (const { cidr } of this.#router.routes()) this.#routeMs.set(cidr, nowMs);
  }

  heard(nowMs: number): HeardRouter {
    const since = this.#completeSinceMs;
    const still = (ms: number | undefined) => (ms === nowMs ? Number.POSITIVE_INFINITY : ms);
    return {
      name: this.#router.name,
      addresses: new Set([this.#router.address]),
      by: 'bmp',
      completeSinceMs: since === undefined ? {} : { ipv4: since, ipv6: since },
      lastRouteMs: (prefix: Prefix) => {
        let last: number | undefined;
        for (const [cidr, ms] of this.#routeMs) {
          const other = parsePrefix(cidr);
          if (other !== undefined && prefix.contains(other)) last = Math.max(last ?? 0, ms);
        }
        return still(last);
      },
      lastSessionMs: (neighbor) => still(this.#sessionMs.get(neighbor)),
    };
  }
}
