/**
 * Pods come and go, so that the console has something to show. Each node has a
 * number of pods that it tends to, by its name; every so often one pod is added or
 * removed somewhere.
 */
import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../kube/backoff.ts';
import type { DemoNode } from './demo-node.ts';

export interface PodPlaces {
  /** Nodes that take pods now. */
  nodes: () => DemoNode[];
  /** Nodes that are being emptied. */
  leaving: () => DemoNode[];
}

interface PodLifeOptions extends PodPlaces {
  random: () => number;
  log: Log;
  everyMs: number;
}

const names = ['web', 'api', 'cache', 'queue', 'search', 'mail', 'feed', 'auth', 'tiles', 'geo'];
/** Nodes that fill up at once. */
const fillAtOnce = 4;

export class PodLife {
  readonly #o: PodLifeOptions;
  readonly #filled = new Set<string>();

  constructor(options: PodLifeOptions) {
    this.#o = options;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { everyMs, log } = this.#o;
    while (!signal.aborted) {
      try {
        await this.#empty(signal);
        const isFilling = await this.#fill(signal);
        if (!isFilling) await this.#move();
      } catch (error) {
        log.warn({ error: describeError(error) }, 'a pod could not be added or removed');
      }
      await pause(everyMs * (0.5 + this.#o.random()), signal);
    }
  }

  /** A node that has just become ready gets its first pods in one go. */
  async #fill(signal: AbortSignal): Promise<boolean> {
    const empty = this.#o
      .nodes()
      .filter((node) => node.isReady && node.podCount === 0 && !this.#filled.has(node.name));
    if (empty.length === 0) return false;
    for (let at = 0; at < empty.length && !signal.aborted; at += fillAtOnce) {
      await Promise.all(
        empty.slice(at, at + fillAtOnce).map(async (node) => {
          this.#filled.add(node.name);
          for (let left = Math.ceil(tendsTo(node) / 2); left > 0 && !signal.aborted; left--) {
            await this.#add(node);
          }
        }),
      );
    }
    return true;
  }

  async #empty(signal: AbortSignal): Promise<void> {
    for (const node of this.#o.leaving()) {
      this.#filled.delete(node.name);
      for (const { id } of node.pods().slice(0, 5)) {
        if (signal.aborted) return;
        await node.removePod(id);
      }
    }
  }

  async #move(): Promise<void> {
    const ready = this.#o.nodes().filter((node) => node.isReady);
    const node = ready[Math.floor(this.#o.random() * ready.length)];
    if (node === undefined) return;
    const wanted = tendsTo(node);
    // As a spring: the further away from where it tends to, the likelier it goes there.
    if (this.#o.random() * 2 * wanted > node.podCount) {
      await this.#add(node);
      return;
    }
    const pods = node.pods();
    const pod = pods[Math.floor(this.#o.random() * pods.length)];
    if (pod !== undefined) await node.removePod(pod.id);
  }

  async #add(node: DemoNode): Promise<void> {
    const { random } = this.#o;
    const name = names[Math.floor(random() * names.length)] ?? 'pod';
    const id = Math.floor(random() * 2 ** 48)
      .toString(16)
      .padStart(12, '0');
    await node.addPod(`${name}-${id.slice(0, 5)}`, id);
  }
}

/** From 8 to 47, always the same for a name. */
function tendsTo({ name }: DemoNode): number {
  let sum = 7;
  for (const char of name) sum = (sum * 31 + char.charCodeAt(0)) % 9973;
  return 8 + (sum % 40);
}
