/**
 * The mistake that started it all, on a switch: a second allocator, like the one
 * in kube-controller-manager, that fills Node.spec.podCIDRs out of the same address space
 * without asking the register. It goes through the nodes in an order of its own,
 * so what it writes is a permutation of the register.
 */
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ClusterNode } from '../model/node.ts';
import { nodes } from '../model/resources.ts';

interface SecondAllocatorOptions {
  client: KubeClient;
  nodes: () => Iterable<ClusterNode>;
  /** The n-th block of the address space it believes to be its own. */
  block: (index: number) => string;
  /** What it has chosen for nodes already, by name; for others it counts. */
  chosen?: Readonly<Record<string, string>> | undefined;
  log: Log;
}

export class SecondAllocator {
  readonly #o: SecondAllocatorOptions;

  constructor(options: SecondAllocatorOptions) {
    this.#o = options;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#round(signal);
      } catch (error) {
        this.#o.log.warn(
          { error: describeError(error) },
          'the second allocator could not set spec.podCIDRs',
        );
      }
      await pause(1_000, signal);
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const all = [...this.#o.nodes()];
    const taken = new Set(all.flatMap(({ podCidrs }) => podCidrs));
    // Youngest first, which is not the order in which the register went.
    const waiting = all
      .filter(({ podCidrs }) => podCidrs.length === 0)
      .sort((a, b) => b.createdMs - a.createdMs || (a.name < b.name ? 1 : -1));
    let next = 0;
    for (const node of waiting) {
      if (signal.aborted) return;
      while (taken.has(this.#o.block(next))) next++;
      // The lowest that is free, unless that happened to be right: a mistake is the point.
      const own = Object.values(node.annotations);
      let at = next;
      while (taken.has(this.#o.block(at)) || own.includes(this.#o.block(at))) at++;
      const cidr = this.#o.chosen?.[node.name] ?? this.#o.block(at);
      taken.add(cidr);
      const body = { spec: { podCIDR: cidr, podCIDRs: [cidr] } };
      await this.#o.client.patch(nodes, node.name, {
        type: 'merge',
        body,
        fieldManager: 'second-allocator',
        signal,
      });
    }
  }
}
