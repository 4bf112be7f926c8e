import type { Clock } from '../base/clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { CiliumEndpoint } from '../model/cilium-endpoint.ts';
import type { ClusterPod } from '../model/pod.ts';
import { ClusterList } from './list-cluster.ts';

/**
 * Which addresses pods have, for who compares all the time: one list of Pods, or of
 * CiliumEndpoints where Pods may not be read. Not watched: every pod of a cluster would
 * have to be kept, and each of its changes be read, for a fault that is rare. A list of
 * many pods is long, so that the next one waits the longer the longer one took.
 */
interface UsedAddressesOptions {
  client: KubeClient;
  clock: Clock;
  leastMs?: number | undefined;
}

export interface UsedItems {
  pods?: readonly ClusterPod[];
  ciliumEndpoints?: readonly CiliumEndpoint[];
}

const usualLeastMs = 60_000;
/** Listing takes at most this part of the time. */
const share = 1 / 60;

export class UsedAddresses {
  readonly #o: UsedAddressesOptions;
  #items: UsedItems = {};
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(options: UsedAddressesOptions) {
    this.#o = options;
  }

  /** What the last look saw; what may not be read is absent. */
  get items(): UsedItems {
    return this.#items;
  }

  get isDue(): boolean {
    return this.#o.clock.monotonicMs() >= this.#dueMs;
  }

  /** The next look is due at once: something was seen that must be seen twice. */
  lookAgain(): void {
    this.#dueMs = Number.NEGATIVE_INFINITY;
  }

  /** Gives the memory back until the next look. */
  forget(): void {
    this.#items = {};
  }

  async look(): Promise<void> {
    const { client, clock, leastMs = usualLeastMs } = this.#o;
    const beganMs = clock.monotonicMs();
    const list = new ClusterList(client, { origin: '', isLenient: true });
    await list.read('pods');
    const mayReadPods = !list.result().unread.has('pods');
    if (!mayReadPods) await list.read('ciliumEndpoints');
    const { items } = list.result();
    this.#items = mayReadPods
      ? { pods: [...(items.pods ?? [])].filter(({ addresses }) => addresses.length > 0) }
      : { ciliumEndpoints: [...(items.ciliumEndpoints ?? [])] };
    const endedMs = clock.monotonicMs();
    this.#dueMs = endedMs + Math.max(leastMs, (endedMs - beganMs) / share);
  }
}
