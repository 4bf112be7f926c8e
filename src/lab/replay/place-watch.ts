/**
 * Fills `Places` for as long as a story runs: every change of a route in the kernels of routers and
 * nodes, as it happens, and every path in the routers' tables whenever they are read.
 */

import type { Lab } from '../lab.ts';
import { ipJson } from '../namespaces.ts';
import type { HeldPath } from '../routers/router.ts';
import { Places } from './places.ts';
import { watchRoutes } from './route-watch.ts';

export class PlaceWatch {
  readonly #lab: Lab;
  readonly #places = new Places();
  #stop: (() => void) | undefined;
  #isLookDue = false;

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  /**
   * Without the nodes that the story cuts off: what they know is old, and nobody can tell them. How
   * they reach each other is their own matter; what counts is that nobody else is led to them.
   */
  async start(cutOff: readonly string[]): Promise<void> {
    const { routers, nodes } = this.#lab.topology;
    const machines = [...routers, ...nodes].map(({ name }) => name);
    const watched = machines.filter((name) => !cutOff.includes(name));
    this.#stop = watchRoutes(this.#lab, watched, ({ router, change, prefix, nextHop }) => {
      const node = this.#nodeAt(nextHop);
      if (node === undefined) return;
      if (change === 'set') this.#places.set(router, prefix, node);
      else this.#places.remove(router, prefix, node);
      this.#lookSoon();
    });
    await Promise.all(
      watched.map(async (name) => {
        const routes = await ipJson<Array<{ dst: string; gateway?: string }>>(
          this.#lab.namespace(name),
          'route show',
        );
        for (const { dst, gateway = '' } of routes) {
          const node = this.#nodeAt(gateway);
          if (node !== undefined) this.#places.set(name, dst, node);
        }
      }),
    );
  }

  take(router: string, paths: readonly HeldPath[], services: readonly string[]): void {
    if (this.#stop === undefined) return;
    const routes = paths.flatMap(({ prefix, nextHop }) => {
      const node = this.#nodeAt(nextHop);
      return node === undefined || services.includes(prefix) ? [] : [{ prefix, node }];
    });
    this.#places.replace(`table of ${router}`, routes);
    this.#places.look();
  }

  /** Undefined if nobody has looked. */
  get found(): readonly string[] | undefined {
    return this.#stop === undefined ? undefined : this.#places.found;
  }

  close(): void {
    this.#stop?.();
  }

  #nodeAt(address: string): string | undefined {
    return this.#lab.topology.nodes.find(({ addresses }) =>
      Object.values(addresses).includes(address),
    )?.name;
  }

  /** After a pause of this process all kernels are read first: one after the other they would differ. */
  #lookSoon(): void {
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    setImmediate(() => {
      this.#isLookDue = false;
      this.#places.look();
    });
  }
}
