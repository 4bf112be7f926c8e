import { describeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../kube/api-error.ts';
import { Backoff, pause } from '../kube/backoff.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Resource, resourceName, resourcePath } from '../kube/resource.ts';
import type { Reason } from '../model/reasons.ts';
import {
  bgpAdvertisements,
  bgpPeers,
  loadBalancerPools,
  nodeBlocks,
  nodeReports,
  serviceAddresses,
} from '../model/resources.ts';

const needed: readonly Resource[] = [
  nodeBlocks,
  nodeReports,
  bgpPeers,
  bgpAdvertisements,
  loadBalancerPools,
  serviceAddresses,
];

/**
 * Until the API server serves every custom resource that the agent reads or
 * writes. The operator registers them; whoever came first waits, and says for
 * what.
 */
export async function waitForResources(
  { client, random, log }: { client: KubeClient; random: () => number; log: Log },
  signal: AbortSignal,
  onWaiting: (reason: Reason, detail: string) => void,
): Promise<void> {
  // Short at its longest: a start is held up by it.
  const backoff = new Backoff({ baseMs: 100, capMs: 2_000, random });
  for (const resource of needed) {
    while (!signal.aborted) {
      try {
        await client.rawGet(`${resourcePath(resource)}?limit=1`, { signal, retries: 0 });
        backoff.reset();
        break;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && error.isNotFound) {
          const name = resourceName(resource);
          onWaiting('WaitingForResources', `${name} is not registered yet; the operator does that`);
        } else {
          onWaiting('WaitingForCluster', describeError(error));
        }
        await pause(backoff.nextMs(), signal);
      }
    }
  }
  log.debug?.({}, 'the custom resources are registered');
}
