/** One pod on each node that serves, none on a node that is being emptied: whom the pings go to. */
import { describeError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import { pause } from '../../kube/backoff.ts';
import type { PodPlaces } from '../pod-life.ts';

const lookEveryMs = 100;

export function podNameOf(node: string): string {
  return `${node}-1`;
}

export class OnePodEach {
  readonly #places: PodPlaces;
  readonly #log: Log;

  constructor(places: PodPlaces, log: Log) {
    this.#places = places;
    this.#log = log;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for (const node of this.#places.nodes()) {
          if (!node.isReady || node.podCount > 0) continue;
          await node.addPod(podNameOf(node.name), `${node.name}-pod-1`);
        }
        for (const node of this.#places.leaving()) {
          for (const { id } of node.pods()) await node.removePod(id);
        }
      } catch (error) {
        this.#log.warn({ error: describeError(error) }, 'a pod could not be added or removed');
      }
      await pause(lookEveryMs, signal);
    }
  }
}
